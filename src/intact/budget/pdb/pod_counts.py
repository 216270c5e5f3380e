"""Live counts of a PodDisruptionBudget that counts pods: kept up to date with each pod."""

from intact.model.meta import OwnerReference
from intact.model.pod import Pod
from intact.model.pod_state import controller_of, has_condition, is_terminating


class PodCounts:
    def __init__(self) -> None:
        self.controllers: dict[str, OwnerReference] = {}
        """The owners that control its pods, as the pods name them, by UID."""
        self._controller_of: dict[str, str] = {}
        """The UID of the owner that controls each pod, by UID; empty if none does."""
        self._pods_of: dict[str, int] = {}
        self._healthy: set[str] = set()

    @property
    def pods(self) -> int:
        return len(self._controller_of)

    @property
    def healthy(self) -> int:
        return len(self._healthy)

    @property
    def unmanaged(self) -> int:
        """Pods that no owner controls."""
        return self._pods_of.get("", 0)

    def is_healthy(self, uid: str) -> bool:
        return uid in self._healthy

    def __contains__(self, uid: str) -> bool:
        return uid in self._controller_of

    def put(self, pod: Pod) -> bool:
        uid = pod.metadata.uid
        reference = controller_of(pod)
        owner = reference.uid if reference is not None else ""
        healthy = is_healthy(pod)
        if self._controller_of.get(uid) == owner and healthy == (uid in self._healthy):
            return False
        self.remove(uid)
        self._controller_of[uid] = owner
        self._pods_of[owner] = self._pods_of.get(owner, 0) + 1
        if reference is not None:
            self.controllers.setdefault(owner, reference)
        if healthy:
            self._healthy.add(uid)
        return True

    def remove(self, uid: str) -> bool:
        owner = self._controller_of.pop(uid, None)
        if owner is None:
            return False
        self._healthy.discard(uid)
        self._pods_of[owner] -= 1
        if not self._pods_of[owner]:
            del self._pods_of[owner]
            self.controllers.pop(owner, None)
        return True


def is_healthy(pod: Pod) -> bool:
    """As Kubernetes' disruption controller counts: the phase does not matter."""
    return not is_terminating(pod) and has_condition(pod, "Ready")
