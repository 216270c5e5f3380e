"""The progress of a rollout of the roles, seen pod by pod."""

from fractions import Fraction

from intact.kube.store import Store
from intact.model.pod import Pod
from intact.model.pod_state import is_gone, is_ready
from intact.rollout.names import ROLE, role_revision_label
from intact.sandbox.scene.roles import ROLES


class Progress:
    """The worst skew and unavailability since `begin`, updated with each change of a pod."""

    def __init__(self, pods: Store[Pod]) -> None:
        self._pods = pods
        self.begin({})
        pods.subscribe(lambda _old, _new: self._look())

    def begin(self, revisions: dict[str, str]) -> None:
        """`revisions`, by role, are being rolled out; empty if none is."""
        self._revisions = revisions
        self.skew = Fraction(0)
        self.unavailable = dict.fromkeys(ROLES, 0)

    def of(self, role: str) -> list[Pod]:
        found = [pod for pod in self._pods if pod.metadata.labels.get(ROLE) == role]
        return sorted(found, key=lambda pod: (len(pod.metadata.name), pod.metadata.name))

    def is_new(self, role: str, pod: Pod) -> bool:
        label = role_revision_label(role)
        return pod.metadata.labels.get(label) == self._revisions.get(role)

    def _look(self) -> None:
        if not self._revisions:
            return
        updated = []
        for role, desired in ROLES.items():
            present = [pod for pod in self.of(role) if not is_gone(pod)]
            new = sum(self.is_new(role, pod) for pod in present)
            updated.append(Fraction(new, desired))
            missing = desired - sum(is_ready(pod) for pod in present)
            self.unavailable[role] = max(self.unavailable[role], missing)
        self.skew = max(self.skew, max(updated) - min(updated))
