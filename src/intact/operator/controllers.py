"""The chosen controllers, put together: what they watch, what they answer, what they do as leader.

A process adds what reaches the network to this: certificates, ports and the registration. A cluster
in memory takes it as it is.
"""

import asyncio
import random
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, Protocol

from intact.kube.client import Client
from intact.kube.reflector import Reflector
from intact.model.meta import LabelSelector
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.operator.pdb import controller as pdb
from intact.operator.pdb.controller import PdbController
from intact.operator.pub.controller import PubController
from intact.operator.pub.gate import Observe, ignore
from intact.operator.rbg.controller import RbgController
from intact.operator.watch.selection import EVERYWHERE
from intact.operator.watch.shared import Watches
from intact.operator.webhook.configuration import (
    DOOR_PATH,
    GATE_PATH,
    PDB_STATUS_PATH,
    PIN_PATH,
    PLACE_PATH,
    VALIDATE_PDB_PATH,
    VALIDATE_PUB_PATH,
    VALIDATE_RBG_PATH,
)
from intact.operator.webhook.server import Handler


class Controller(Protocol):
    """What all controllers have in common."""

    @property
    def reflectors(self) -> list[Reflector[Any]]: ...

    async def run(self) -> None:
        """What every process does, until cancelled."""

    async def lead(self) -> None:
        """What the leader does, until cancelled."""

    async def wait_synced(self) -> None: ...


class Controllers:
    """`groups` says whether reviews are answered: PodDisruptionBudgets in groups are enforced by a
    webhook, or not at all. `selected` are the namespaces in which PodUnavailableBudgets hold
    pods."""

    def __init__(
        self,
        client: Client,
        names: Collection[str],
        identity: str,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        groups: bool = True,
        selected: LabelSelector = EVERYWHERE,
        observe_pub: Observe = ignore,
        observe_pdb: pdb.Observe = pdb.ignore,
        rng: random.Random | None = None,
    ) -> None:
        self._watches = Watches(client, rng=rng)
        self.pub: PubController | None = None
        self.pdb: PdbController | None = None
        self.rbg: RbgController | None = None
        self.handlers: dict[str, Handler] = {}
        """What answers reviews, by path."""
        groups = groups and "pdb" in names
        disruption = "disruption" in names
        if "pub" in names:
            self.pub = PubController(
                client,
                identity,
                now=now,
                leads=leads,
                observe=observe_pub,
                selected=selected,
                rng=rng,
                watches=self._watches,
                ask_door=self._ask_door,
            )
            self.handlers[GATE_PATH] = self.pub.gate.review
            self.handlers[PIN_PATH] = self.pub.pin.review
            self.handlers[VALIDATE_PUB_PATH] = self.pub.validation.review
        if groups or disruption:
            self.pdb = PdbController(
                client,
                identity,
                now=now,
                leads=leads,
                groups=groups,
                disruption=disruption,
                rng=rng,
                watches=self._watches,
                observe=observe_pdb,
            )
        if self.pdb is not None and groups:
            self.handlers[PDB_STATUS_PATH] = self.pdb.status_gate.review
            self.handlers[DOOR_PATH] = self.pdb.door.review
            self.handlers[VALIDATE_PDB_PATH] = self.pdb.validation.review
        if "rbg" in names:
            self.rbg = RbgController(client, identity, now=now, leads=leads, rng=rng)
            self.handlers[VALIDATE_RBG_PATH] = self.rbg.validation.review
            self.handlers[PLACE_PATH] = self.rbg.new_pods.review

    async def _ask_door(self, pod: Pod) -> tuple[PodDisruptionBudget, str] | None:
        """What a PodDisruptionBudget in groups says to an eviction of the pod, if it refuses."""
        if self.pdb is None or DOOR_PATH not in self.handlers:
            return None
        return await self.pdb.door.refusal(pod)

    @property
    def _all(self) -> list[Controller]:
        return [each for each in (self.pub, self.pdb, self.rbg) if each is not None]

    @property
    def _has_budgets(self) -> bool:
        """Only controllers of budgets use what is watched for all; `rbg` may lack the rights."""
        return self.pub is not None or self.pdb is not None

    def reflectors(self) -> list[Reflector[Any]]:
        """Those of each controller, then those that budgets share."""
        shared = self._watches.reflectors if self._has_budgets else []
        own = [
            reflector
            for controller in self._all
            for reflector in controller.reflectors
            if reflector not in shared
        ]
        return [*own, *shared]

    async def wait_synced(self) -> None:
        """Before this no review may be answered: a gate that has not seen every budget would allow
        too much. RoleBasedGroups are not waited for: their CRD may not be installed."""
        for controller in (self.pub, self.pdb):
            if controller is not None:
                await controller.wait_synced()

    async def run(self) -> None:
        """What every process does, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._has_budgets:
                group.create_task(self._watches.run())
            for controller in self._all:
                group.create_task(controller.run())

    async def lead(self) -> None:
        """What the leader does, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for controller in self._all:
                group.create_task(controller.lead())
