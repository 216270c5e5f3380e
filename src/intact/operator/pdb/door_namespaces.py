"""Which namespaces have a door.

The webhook registration reaches only namespaces with the label `intact.dev/door`. The leader sets
the label on namespaces with a PodDisruptionBudget that counts groups, and removes it from all
others. Nothing depends on when the API server notices: the door only explains.
"""

from collections.abc import Callable

from intact.kube.client import Client
from intact.kube.resources import NAMESPACES
from intact.kube.store import Store
from intact.model.places import Namespace
from intact.model.pod_state import is_terminating
from intact.operator.webhook.configuration import DOOR_LABEL


class DoorNamespaces:
    def __init__(
        self,
        client: Client,
        namespaces: Store[Namespace],
        needs_door: Callable[[str], bool],
    ) -> None:
        """`needs_door` says whether a namespace has a budget that counts groups."""
        self._client = client
        self._namespaces = namespaces
        self._needs_door = needs_door

    async def reconcile(self, namespace: str) -> None:
        known = self._namespaces.get("", namespace)
        if known is None or is_terminating(known):
            return
        wanted = self._needs_door(namespace)
        if (known.metadata.labels.get(DOOR_LABEL) == "true") != wanted:
            labels = {DOOR_LABEL: "true" if wanted else None}
            await self._client.patch(NAMESPACES, {"metadata": {"labels": labels}}, namespace)
