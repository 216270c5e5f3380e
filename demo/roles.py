"""A RoleBasedGroup of two roles, as an API object, and the progress of its rollout."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from intact.kube.store import Store
from intact.model.pod import Pod
from intact.model.pod_state import is_gone, is_ready
from intact.rollout.names import ROLE, role_revision_label

NAMESPACE = "llm"
GROUP = "llm"
ROLES = {"prefill": 8, "decode": 4}
LIMIT = "25%"
_IMAGE = "example.org/llm:1"
BROKEN = "devcluster.intact.dev/unready"

Json = dict[str, Any]


def namespace() -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def group(slowed: Callable[[Json], Json]) -> Json:
    return {
        "apiVersion": "workloads.x-k8s.io/v1alpha1",
        "kind": "RoleBasedGroup",
        "metadata": {"name": GROUP, "namespace": NAMESPACE},
        "spec": {
            "roles": [
                {"name": name, "replicas": replicas, "template": template(_IMAGE, slowed)}
                for name, replicas in ROLES.items()
            ],
            "coordination": [
                {
                    "name": "together",
                    "type": "RollingUpdate",
                    "roles": list(ROLES),
                    "strategy": {"maxSkew": LIMIT, "maxUnavailableRatio": LIMIT},
                }
            ],
            "progressDeadlineSeconds": 8,
        },
    }


def template(image: str, slowed: Callable[[Json], Json], *, broken: bool = False) -> Json:
    """The pods of a broken one never become ready."""
    metadata = {"annotations": {BROKEN: "true"}} if broken else {}
    container = {"name": "engine", "image": image}
    return slowed({"metadata": metadata, "spec": {"containers": [container]}})


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
