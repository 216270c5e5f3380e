"""The disruption controller of kube-controller-manager: it counts PodDisruptionBudgets in pods.

The counts are those of Intact's own disruption controller, which are the same (KEP-85). It writes
only the status, as the stock one does: where Intact runs, its gate puts the counts of groups into
the status of budgets that ask for groups. On the server of KEP-5682 it counts groups itself, where
`spec.budgetScope` asks for them.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime

from intact.kube.client import Client
from intact.operator.pdb.controller import PdbController
from intact.sandbox.api.server import MemoryApi

_USER = "system:serviceaccount:kube-system:disruption-controller"
_MANAGER = "kube-controller-manager"


class DisruptionController:
    def __init__(self, api: MemoryApi, clock: Callable[[], datetime], *, seed: int = 0) -> None:
        rng = random.Random(f"disruption {seed}")
        client = Client(
            api.as_user(_USER), field_manager=_MANAGER, rng=rng, on_warning=lambda _text: None
        )
        self._controller = PdbController(
            client,
            _MANAGER,
            now=clock,
            leads=lambda: True,
            groups=False,
            disruption=True,
            only_status=True,
            rng=rng,
        )

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._controller.run())
            group.create_task(self._controller.lead())
