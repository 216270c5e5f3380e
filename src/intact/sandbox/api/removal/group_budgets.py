"""What a PodDisruptionBudget with `budgetScope: Workload` or `PodGroup` answers to an eviction, on a
server of KEP-5682.

The server looks at the pods that the budget selects and at what defines their groups, at each
attempt. A group is available if at least `minCount` of its pods are ready, not terminating and not
listed in `disruptedPods`.

| the pod | answer |
|---|---|
| not ready | goes for nothing, under `IfHealthyBudget` only while enough groups are available |
| without a group; or any group of the budget cannot be resolved | 429 |
| listed in `disruptedPods` already | goes for nothing |
| in a group with more such pods than its `minCount` | goes for nothing |
| in a group that is unavailable already | goes for nothing while enough groups are available, or under `AlwaysAllow` |
| any other | takes one of `disruptionsAllowedReplicas`; 429 if there is none, or too few groups are available |

What goes for nothing and is ready is recorded as well, so that two evictions that each take the last
surplus pod collide.
"""  # noqa: E501

from collections.abc import Iterator
from dataclasses import dataclass

from intact.sandbox.api.builtin import PODS
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, lookup
from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.api.removal.budgets import (
    check_counted,
    condition_of,
    refused,
    selects,
    take_one,
)
from intact.sandbox.api.state import State

_REFERENCES = ("workloadRef", "workload", "workloadReference")
"""How pods name their Workload: in Kubernetes 1.35, and in two places of the KEP."""

Reference = tuple[str, ...]
"""The kind and name of what defines a group; of a Workload also which of its groups, and which
replica of that."""


def counts_groups(budget: Json) -> bool:
    return budget["spec"].get("budgetScope") in ("Workload", "PodGroup")


@dataclass(slots=True)
class _Group:
    need: int | None
    healthy: int = 0
    finished: bool = True

    @property
    def available(self) -> bool:
        return self.need is not None and self.healthy >= self.need


class GroupBudget:
    """A budget and the groups of its pods, at one moment."""

    def __init__(self, state: State, budget: Json) -> None:
        self._state = state
        self._budget = budget
        self._status: Json = budget.setdefault("status", {})
        self._groups: dict[Reference, _Group] = {}
        for pod in self._pods():
            reference = _reference(pod)
            if reference is not None:
                self._count(reference, pod)

    def is_free(self, pod: Json) -> bool:
        """Whether a pod that is not ready may go."""
        if is_ready(pod):
            return False
        if self._always_allows:
            return True
        check_counted(self._budget)
        if self._enough and not self._unresolved():
            return True
        raise refused(self._needs("such pods go only while enough replicas are available"))

    def taken(self, pod: Json, now: str) -> Json:
        """The budget with the eviction of a ready pod in it. Raises the evictor's answer."""
        check_counted(self._budget)
        name = pod["metadata"]["name"]
        if not self._is_going(pod) and self._breaks(pod):
            self._spend(now)
        self._status["disruptedPods"] = {**self._disrupted, name: now}
        return self._budget

    def _breaks(self, pod: Json) -> bool:
        """Whether the eviction costs a group. Raises if the pod may not go at all."""
        reference, name = _reference(pod), self._budget["metadata"]["name"]
        if reference is None:
            raise refused(
                f"The disruption budget {name} counts PodGroups, and pod "
                f"{pod['metadata']['name']} is missing the workload reference"
            )
        if unresolved := self._unresolved():
            raise refused(
                f"The disruption budget {name} cannot resolve the groups of its pods: "
                f"{', '.join(unresolved)}"
            )
        group = self._groups.get(reference)
        if group is not None and group.available:
            return group.healthy == group.need
        if not self._enough and not self._always_allows:
            raise refused(self._needs("pods of broken replicas go only while there are enough"))
        return False

    def _spend(self, now: str) -> None:
        if self._available <= self._desired:
            raise refused(self._needs(""))
        if self._status.get("disruptionsAllowed", 0) == 0:
            raise refused(self._not_allowed())
        take_one(self._status, now, "InsufficientReplicas")

    def _count(self, reference: Reference, pod: Json) -> None:
        group = self._groups.get(reference)
        if group is None:
            group = self._groups[reference] = _Group(self._need(reference))
        group.healthy += is_ready(pod) and not self._is_going(pod)
        group.finished &= lookup(pod, "status.phase") == "Succeeded"

    def _pods(self) -> Iterator[Json]:
        for stored in self._state.store.listed(PODS, self._budget["metadata"]["namespace"]):
            if selects(self._budget, stored.obj["metadata"].get("labels") or {}):
                yield stored.obj

    def _is_going(self, pod: Json) -> bool:
        meta = pod["metadata"]
        at = self._disrupted.get(meta["name"], "")
        return "deletionTimestamp" in meta or bool(meta["creationTimestamp"] <= at)

    def _need(self, reference: Reference) -> int | None:
        """None if the definition of the group is missing, or states no minCount."""
        kind, name, *part = reference
        found = self._find("podgroups" if kind == "PodGroup" else "workloads", name)
        need = lookup(found, "spec.schedulingPolicy.gang.minCount")
        for group in lookup(found, "spec.podGroups") or ():
            if part and group.get("name") == part[0]:
                need = lookup(group, "policy.gang.minCount")
        return need if isinstance(need, int) else None

    def _find(self, plural: str, name: str) -> Json | None:
        kind: Kind | None = self._state.registry.of_group("scheduling.k8s.io", plural)
        if kind is None:
            return None
        key = kind.key(self._budget["metadata"]["namespace"], name)
        stored = self._state.store.get(kind, key)
        return stored.obj if stored is not None else None

    def _unresolved(self) -> list[str]:
        return [
            "/".join(reference[1:])
            for reference, group in self._groups.items()
            if group.need is None and not group.finished
        ]

    @property
    def _disrupted(self) -> dict[str, str]:
        return self._status.get("disruptedPods") or {}

    @property
    def _always_allows(self) -> bool:
        policy: str = self._budget["spec"].get("unhealthyPodEvictionPolicy", "")
        return policy == "AlwaysAllow"

    @property
    def _available(self) -> int:
        return sum(group.available for group in self._groups.values())

    @property
    def _desired(self) -> int:
        return int(self._status.get("desiredHealthyReplicas", 0))

    @property
    def _enough(self) -> bool:
        return self._available >= self._desired

    def _needs(self, why: str) -> str:
        text = (
            f"The disruption budget {self._budget['metadata']['name']} needs {self._desired} "
            f"healthy replicas and has {self._available} currently"
        )
        return f"{text}: {why}" if why else text

    def _not_allowed(self) -> str:
        condition = condition_of(self._status) or {}
        text = (
            f"The disruption budget {self._budget['metadata']['name']} does not allow evicting "
            "pods currently"
        )
        message = condition.get("message") if condition.get("status") == "False" else ""
        return f"{text} ({condition.get('reason')}): {message}" if message else text


def _reference(pod: Json) -> Reference | None:
    spec = pod["spec"]
    group = lookup(spec, "schedulingGroup.podGroupName")
    if group:
        return ("PodGroup", group)
    for field in _REFERENCES:
        found = spec.get(field) or {}
        if found.get("name"):
            parts = ("name", "podGroup", "podGroupReplicaKey")
            return ("Workload", *(found.get(part) or "" for part in parts))
    return None
