"""PodGroups stay while a pod that has not finished names them."""

from collections.abc import Callable

from intact.kube.errors import NotFound
from intact.kube.resources import untyped
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_groups import POD_GROUPS as KIND
from intact.sandbox.api.pod_groups import PROTECTION, WORKLOADS
from intact.sandbox.api.pod_state import is_finished, is_terminating
from intact.sandbox.controllers.controller import Controller, Key, Shared

POD_GROUPS = untyped(KIND.group, KIND.version, KIND.plural, KIND.kind)


class PodGroupProtection(Controller):
    kind = KIND.full_name

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._users: dict[Key, dict[str, None]] = {}
        """The UIDs of the unfinished pods of each group."""

    def follow(self) -> list[Callable[[], None]]:
        return [self.shared.api.follow("pods", self._pod_changed)]

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        pod = new or old
        assert pod is not None
        key = group_of(pod)
        if key is None:
            return
        users = self._users.setdefault(key, {})
        if new is not None and not is_finished(new):
            users[new["metadata"]["uid"]] = None
            return
        users.pop(pod["metadata"]["uid"], None)
        if not users:
            del self._users[key]
            self.queue.add(key)

    async def reconcile(self, obj: Json) -> None:
        meta = obj["metadata"]
        kept = meta.get("finalizers") or []
        if not is_terminating(obj) or PROTECTION not in kept:
            return
        if (meta["namespace"], meta["name"]) in self._users:
            return
        patch = {
            "metadata": {
                "resourceVersion": meta["resourceVersion"],
                "finalizers": [each for each in kept if each != PROTECTION],
            }
        }
        try:
            await self.shared.client.patch(POD_GROUPS, patch, meta["name"], meta["namespace"])
        except NotFound:
            return


def group_of(pod: Json) -> Key | None:
    """The PodGroup that a pod names."""
    name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return (pod["metadata"]["namespace"], name) if name else None


def pod_groups(shared: Shared) -> list[Controller]:
    """Serve PodGroups and Workloads. Returns what controls them."""
    for kind in (WORKLOADS, KIND):
        if not shared.api.serves(kind.full_name):
            shared.api.register(kind)
    return [PodGroupProtection(shared)]
