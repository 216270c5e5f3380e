"""What Intact has taken from each role, after every change of a pod or a workload, and the rules.

A pod that was ready and goes is charged to Intact if Intact evicted or deleted it, or if the
controller of its workload deleted it and only Intact has changed that workload. A charge ends when
a pod of the role becomes ready, and never exceeds what the role lacks. So what others took, and
pods that fail, are never charged; nor are the pods that a workload outside of any coordination
updates by itself. Rules, at each charge:

1. A role lacks no more pods by Intact than its rules allow. The rules are those of any spec that
   Intact may go by: from the generation that its status shows, and those replaced a moment ago.
2. Intact deletes no workload of a role that exists, unless the role's other workloads, of its
   present kind, have the pods that the rules require.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import msgspec

from intact.model.rbg import Role, RoleBasedGroup
from intact.rollout.coordinations import ROLLING_UPDATE, coordination_of, rolling_rules
from intact.rollout.ratios import parse
from intact.sandbox import Rule
from tests.simulation.rbg.course import GROUP, INTACT, KUBELET, NAMESPACE, OTHERS
from tests.simulation.rbg.kubelet import is_ready, is_terminating
from tests.simulation.rbg.world import WORKLOADS, World, seconds
from tests.support.objects import Json

COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
_GRACE = 6.0
"""Seconds for which a spec that was replaced still counts: what was decided by it takes effect."""


class Violation(AssertionError):
    """Intact broke a rule."""


@dataclass(frozen=True, slots=True)
class Spec:
    generation: int
    group: RoleBasedGroup
    replaced: float = float("inf")


@dataclass(slots=True)
class Workload:
    uid: str
    name: str
    kind: str
    role: str
    tainted: bool = False
    """Others have changed it since its role was last at rest."""


@dataclass(slots=True)
class Charges:
    """Pods that a role lacks, by who took them."""

    taken: int = 0
    """By Intact."""
    others: int = 0
    failed: dict[str, None] = field(default_factory=dict)
    """The UIDs of pods that are there and were ready. They are among those of others."""

    def goes(self, uid: str) -> None:
        """A pod that was ready is not, and not by Intact."""
        self.others += 1
        self.failed[uid] = None

    def returns(self, uid: str) -> None:
        """A pod is ready: it stands in for itself, or else for one that Intact took."""
        if uid in self.failed:
            del self.failed[uid]
            self.others = max(0, self.others - 1)
        elif self.taken:
            self.taken -= 1
        else:
            self.others = max(0, self.others - 1)


class Truth:
    def __init__(self, world: World) -> None:
        self.workloads: dict[str, Workload] = {}
        """All that there ever were, by UID."""
        self.specs: list[Spec] = []
        self.charges: dict[str, Charges] = {}
        self._violation: Violation | None = None
        self._world = world
        self._sets: dict[str, str] = {}
        """The Deployment of each ReplicaSet."""
        self._asked: dict[tuple[str, str], str] = {}
        """By kind and name: who last asked for its deletion."""
        self._ready: dict[str, dict[str, None]] = {}
        """By role, the UIDs of its ready pods."""
        api = world.api
        api.admit(
            "who",
            self._ask,
            [
                Rule(("pods", "statefulsets", "deployments"), ("DELETE",)),
                Rule(("pods/eviction",), ("CREATE",)),
            ],
        )
        api.follow("rolebasedgroups.workloads.x-k8s.io", self._group_changed)
        for kind, full_name in WORKLOADS.items():
            api.follow(full_name, partial(self._workload_changed, kind))
        api.follow("replicasets.apps", self._set_changed)
        api.follow("pods", self._pod_changed)

    def observe(self) -> None:
        """After every step: raise what was found in it. Where it is found, in the middle of another
        client's request, that client might survive it."""
        if self._violation is not None:
            raise self._violation

    # What happens

    async def _ask(self, request: Json) -> Json:
        if not request.get("dryRun") and request["userInfo"]["username"] != KUBELET:
            resource = request["resource"]["resource"]
            options = (request.get("object") or {}).get("deleteOptions") or {}
            if not options.get("dryRun"):
                self._asked[resource, request["name"]] = request["userInfo"]["username"]
        return {"allowed": True}

    def _group_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None or (old is not None and old["spec"] == new["spec"]):
            return
        if self.specs:
            last = self.specs[-1]
            self.specs[-1] = Spec(last.generation, last.group, seconds())
        group = msgspec.convert(new, RoleBasedGroup)
        self.specs.append(Spec(group.metadata.generation, group))

    def _workload_changed(self, kind: str, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        meta = obj["metadata"]
        if old is None:
            role = meta["name"].removeprefix(f"{GROUP}-").partition("-")[0]
            self.workloads[meta["uid"]] = Workload(meta["uid"], meta["name"], kind, role)
        goes = new is None or is_terminating(new)
        went = old is not None and is_terminating(old)
        if goes and not went:
            by = self._asked.get((f"{kind.lower()}s", meta["name"]), "")
            if by == INTACT:
                self._check_deletion(self.workloads[meta["uid"]], obj)
            elif by == OTHERS:
                self.workloads[meta["uid"]].tainted = True

    def _set_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            for owner in new["metadata"].get("ownerReferences") or ():
                self._sets[new["metadata"]["uid"]] = owner["uid"]

    def workload_of(self, pod: Json) -> Workload | None:
        for owner in pod["metadata"].get("ownerReferences") or ():
            uid = self._sets.get(owner["uid"], owner["uid"])
            if uid in self.workloads:
                return self.workloads[uid]
        return None

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        workload = self.workload_of(obj)
        if workload is None:
            return
        uid, role = obj["metadata"]["uid"], workload.role
        ready = self._ready.setdefault(role, {})
        charges = self.charges.setdefault(role, Charges())
        if is_ready(new):
            if uid not in ready:
                ready[uid] = None
                charges.returns(uid)
        elif uid in ready:
            del ready[uid]
            gone = new is None or is_terminating(new)
            if gone and self._is_intacts(obj, workload):
                charges.taken += 1
                self._check_charges(role, obj["metadata"]["name"])
            else:
                charges.goes(uid)
        if new is None:
            charges.failed.pop(uid, None)
        self._limit(role)

    def taint(self, workload: Json) -> None:
        """Others change it, or delete it: what its controller does next is not Intact's."""
        self.workloads[workload["metadata"]["uid"]].tainted = True

    def rest(self) -> None:
        """All roles are as they should be."""
        for one in self.workloads.values():
            one.tainted = False

    def _is_intacts(self, pod: Json, workload: Workload) -> bool:
        by = self._asked.get(("pods", pod["metadata"]["name"]), "")
        if by == INTACT:
            self._world.trace.count("evictions")
            return True
        if by == OTHERS or workload.tainted:
            return False
        if self._is_scaled_in(pod, workload):
            return False
        return by == COLLECTOR or not self._updates_itself(workload)

    def _updates_itself(self, workload: Workload) -> bool:
        """Whether no coordination holds it. A StatefulSet starts anew with each template, whatever
        became of the last one; a Deployment goes by what its ReplicaSets have last reported."""
        found = self._world.api.peek(WORKLOADS[workload.kind], NAMESPACE, workload.name)
        if found is None:
            return False
        return any(
            coordination_of(one.group.spec, workload.role, ROLLING_UPDATE) is None
            and found["spec"]["replicas"] >= self.desired(workload.role, one)
            for one in self.present()
        )

    def _is_scaled_in(self, pod: Json, workload: Workload) -> bool:
        if workload.kind != "StatefulSet":
            return False
        ordinal = int(pod["metadata"]["name"].rpartition("-")[2])
        return any(ordinal >= self.desired(workload.role, one) for one in self.present())

    # The rules

    def present(self) -> Iterator[Spec]:
        """Those that Intact may go by."""
        seen = self._world.group.get("status", {}).get("observedGeneration", 0)
        now = seconds()
        for one in self.specs:
            if one.generation >= seen or one.replaced > now - _GRACE:
                yield one

    def desired(self, role: str, spec: Spec) -> int:
        found = spec.group.spec.role(role)
        if found is None:
            return 0
        return 1 if found.replicas is None else found.replicas

    def allowed(self, name: str, spec: Spec) -> int | None:
        """Pods that Intact may take; None if the role is not there."""
        role = spec.group.spec.role(name)
        if role is None:
            return None
        desired = self.desired(name, spec)
        coordination = coordination_of(spec.group.spec, name, ROLLING_UPDATE)
        if coordination is None:
            return self._own_pace(role, desired)
        ratio = rolling_rules(coordination).max_unavailable
        if ratio is None:
            return max(1, desired // 4)
        share = parse(ratio)
        most = int(share * desired)
        return max(1, most) if share and role.workload.kind == "StatefulSet" else most

    def _own_pace(self, role: Role, desired: int) -> int:
        """A StatefulSet takes one pod at a time, a Deployment a quarter of them. A role that
        changes its kind may lack a quarter, at least one."""
        if self._changes_kind(role):
            return max(1, desired // 4)
        return 1 if role.workload.kind == "StatefulSet" else desired // 4

    def _changes_kind(self, role: Role) -> bool:
        found = (one.group.spec.role(role.name) for one in self.present())
        if len({one.workload.kind for one in found if one is not None}) > 1:
            return True
        return any(
            one.role == role.name
            and one.kind != role.workload.kind
            and self._world.api.peek(WORKLOADS[one.kind], NAMESPACE, one.name) is not None
            for one in self.workloads.values()
        )

    def lacks(self, role: str, spec: Spec) -> int:
        return max(0, self.desired(role, spec) - len(self._ready.get(role, ())))

    def _limit(self, role: str) -> None:
        """No more was taken than is lacking."""
        most = max((self.lacks(role, one) for one in self.present()), default=0)
        charges = self.charges[role]
        charges.others = min(charges.others, most)
        charges.taken = min(charges.taken, most)

    def _check_charges(self, role: str, pod: str) -> None:
        charges = self.charges[role]
        found = []
        for one in self.present():
            allowed = self.allowed(role, one)
            by_others = min(charges.others, self.lacks(role, one))
            taken = min(charges.taken, self.lacks(role, one) - by_others)
            if allowed is None or taken <= allowed:
                return
            found.append(f"{allowed} of {self.desired(role, one)} (generation {one.generation})")
        self._violation = Violation(
            f"with pod {pod}, Intact has taken {charges.taken} pods of role {role}, and may take "
            + ", ".join(found)
        )

    def _check_deletion(self, gone: Workload, obj: Json) -> None:
        self._world.trace.count("workloads deleted")
        pods = self._pods_of(gone)
        if not obj["spec"]["replicas"] and not pods:
            return  # it has moved to its successor
        found = []
        for spec in self.present():
            role = spec.group.spec.role(gone.role)
            if role is None:
                return
            others = [
                one
                for one in self.workloads.values()
                if one.role == gone.role and one is not gone and one.kind == role.workload.kind
            ]
            left = sum(is_ready(pod) for one in others for pod in self._pods_of(one))
            allowed = self.allowed(gone.role, spec) or 0
            if left >= self.desired(gone.role, spec) - allowed and (others or not pods):
                return
            found.append(
                f"role {gone.role} needs {self.desired(gone.role, spec)} and has {left} ready pods "
                f"of kind {role.workload.kind} besides (generation {spec.generation})"
            )
        self._violation = Violation(f"Intact deletes {gone.kind} {gone.name}: " + ", ".join(found))

    def _pods_of(self, workload: Workload) -> list[Json]:
        return [
            pod
            for pod in self._world.api.objects("pods", NAMESPACE)
            if self.workload_of(pod) is workload and not is_terminating(pod)
        ]
