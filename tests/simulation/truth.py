"""The state of the API after every step, and the rule that must hold there.

An admitted operation takes effect when the pod gets its deletionTimestamp, its new image or the
label that marks it unavailable. No such effect may leave fewer available units than the budget
desires. Without failures that holds at every step. With failures, the gate is not charged with what
it could not know:

- A pod that failed on its own counts as available until a recount has seen its failure. For an
  operation that was recorded before that recount, it still counts as available. An operation that
  leaves its group up by this count took surplus, and costs nothing.
- An operation that was recorded while its unit was down may take effect when the unit is up again.
  A group counts as down until a recount has seen the return of each of its pods.
- A pod that is taken from a unit that is down, or counts as down, counts as failed.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from intact.budget.pub.availability import UNAVAILABLE_LABEL_PREFIX
from intact.kube.resources import PUBS
from intact.sandbox import MemoryApi
from tests.simulation.scenario import GROUP_KEY, BudgetPlan, Scenario
from tests.simulation.trace import Trace
from tests.support.objects import Json

NAMESPACE = "ns"


class Violation(AssertionError):
    """A budget was overspent."""


@dataclass(frozen=True, slots=True)
class TruePod:
    obj: Json
    available: bool
    restarting: bool

    @property
    def name(self) -> str:
        name: str = self.obj["metadata"]["name"]
        return name

    @property
    def uid(self) -> str:
        uid: str = self.obj["metadata"]["uid"]
        return uid

    @property
    def app(self) -> str:
        app: str = self.obj["metadata"]["labels"]["app"]
        return app

    @property
    def group(self) -> str | None:
        group: str | None = self.obj["metadata"]["labels"].get(GROUP_KEY)
        return group

    @property
    def place(self) -> str:
        """What a pod has in common with its successor: its name, or its owner."""
        meta = self.obj["metadata"]
        place: str = meta["ownerReferences"][0]["name"] if "generateName" in meta else meta["name"]
        return place


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record in a ledger, and what was true when it was first stored."""

    seen: int
    """The resource version up to which the last recount had seen pods."""
    group: str
    unit_was_down: bool


@dataclass(slots=True)
class TrueBudget:
    plan: BudgetPlan
    obj: Json | None = None
    seen: int = 0
    counted: bool = False
    records: dict[str, Recorded] | None = None

    @property
    def status(self) -> Json:
        status: Json = (self.obj or {}).get("status") or {}
        return status

    @property
    def ledger(self) -> Json:
        ledger: Json = json.loads(self.status.get("ledger") or "{}")
        return ledger


@dataclass(frozen=True, slots=True)
class Memory:
    """What `Truth` knows besides the API, as of a backup."""

    pods: dict[str, TruePod]
    failed: dict[str, tuple[int, TruePod]]
    returned: dict[str, tuple[int, TruePod]]
    available_since: dict[str, int]
    departed: dict[str, list[str]]
    successor_of: dict[str, str]
    records: dict[str, dict[str, Recorded]]


def image_id(image: str) -> str:
    return f"sha256:{image}"


def image_of(pod: Json) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def is_terminating(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def is_ready(pod: Json) -> bool:
    status = pod.get("status", {})
    return status.get("phase") == "Running" and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in status.get("conditions", ())
    )


def is_marked(pod: Json) -> bool:
    return any(key.startswith(UNAVAILABLE_LABEL_PREFIX) for key in pod["metadata"]["labels"])


def _is_available(pod: Json) -> bool:
    """A pod whose image is not the one that runs will be restarted: it is not available."""
    return (
        is_ready(pod)
        and not is_terminating(pod)
        and not is_marked(pod)
        and pod["status"]["containerStatuses"][0]["imageID"] == image_id(image_of(pod))
    )


def _is_disrupted(old: Json, new: Json) -> bool:
    """Whether the gate is asked about this change."""
    return (
        (is_terminating(new) and not is_terminating(old))
        or image_of(new) != image_of(old)
        or (is_marked(new) and not is_marked(old))
    )


class Truth:
    def __init__(self, api: MemoryApi, scenario: Scenario, trace: Trace) -> None:
        self.pods: dict[str, TruePod] = {}
        self.budgets = {plan.name: TrueBudget(plan) for plan in scenario.budgets}
        self.restarting: dict[str, None] = {}
        """Pods whose kubelet has begun to restart them."""
        self.on_pod: Callable[[str], None] = lambda _uid: None
        """Called with the UID of every pod that changes."""
        self._api = api
        self._strict = scenario.paces.failures is None
        self._trace = trace
        self._revision = 0
        self._highest = 0
        """The highest revision ever, also before a restore."""
        self._failed: dict[str, tuple[int, TruePod]] = {}
        """Since when pods have failed, also pods that are gone and have no available successor."""
        self._returned: dict[str, tuple[int, TruePod]] = {}
        """Pods that have become available, while no recount has seen that yet."""
        self._available_since: dict[str, int] = {}
        self._departed: dict[str, list[str]] = {}
        self._successor_of: dict[str, str] = {}
        self._known: dict[str, None] = {}
        """The UIDs of all pods that there have ever been."""

    def snapshot(self) -> Memory:
        """What is known at the moment of a backup."""
        return Memory(
            dict(self.pods),
            dict(self._failed),
            dict(self._returned),
            dict(self._available_since),
            {place: list(uids) for place, uids in self._departed.items()},
            dict(self._successor_of),
            {name: dict(budget.records or {}) for name, budget in self.budgets.items()},
        )

    def restored(self, memory: Memory) -> None:
        """The API has gone back to a backup: what has happened since has not happened."""
        self.pods = memory.pods
        self._failed = memory.failed
        self._returned = memory.returned
        self._available_since = memory.available_since
        self._departed = memory.departed
        self._successor_of = memory.successor_of
        for name, budget in self.budgets.items():
            budget.obj, budget.records = None, memory.records[name]
        self.restarting.clear()
        self._revision = 0  # look at everything after this step

    def observe(self) -> None:
        """After every step."""
        if self._api.revision == self._revision:
            return
        self._revision = self._api.revision
        self._highest = max(self._highest, self._revision)
        before: dict[str, set[str]] = {}
        if not self._strict:
            before = {name: self._units(each.plan) for name, each in self.budgets.items()}
        taken = self._look_at_pods()
        for name, budget in self.budgets.items():
            self._look_at(budget)
            if not budget.counted:
                continue
            if self._strict:
                self._check(budget, self.available_units(budget.plan))
                continue
            after = self._units(budget.plan)
            for pod in taken:
                unit = pod.group if budget.plan.need is not None else pod.uid
                if pod.app == budget.plan.app and unit not in after:
                    self._charge(budget, pod, was_up=unit in before[name])

    def _look_at_pods(self) -> list[TruePod]:
        """The available pods that admitted operations have just taken."""
        taken = []
        here: dict[str, TruePod] = {}
        changed = []
        for obj in self._api.objects("pods", NAMESPACE):
            uid = obj["metadata"]["uid"]
            old = self.pods.get(uid)
            restarting = uid in self.restarting
            if old is not None and old.obj is obj and old.restarting == restarting:
                here[uid] = old
                continue
            new = here[uid] = TruePod(obj, _is_available(obj) and not restarting, restarting)
            changed.append(uid)
            if self._is_taken(old, new):
                taken.append(new)
        for uid, pod in self.pods.items():
            if uid not in here:
                changed.append(uid)
                self._returned.pop(uid, None)
                self._depart(pod)
        self.pods = here
        for uid in changed:
            self.on_pod(uid)
        return taken

    def _is_taken(self, old: TruePod | None, new: TruePod) -> bool:
        """Whether an admitted operation took the pod. Notes failures, returns and successors."""
        if old is None:
            self._known[new.uid] = None
            if departed := self._departed.get(new.place):
                self._successor_of[new.uid] = departed.pop(0)
            return False
        if is_terminating(new.obj) and not is_terminating(old.obj):
            self._depart(new)
        if new.available and not old.available:
            self._trace.note(f"{new.name} is available")
            self._returned[new.uid] = self._revision, new
            self._available_since[new.uid] = self._revision
            self._failed.pop(new.uid, None)
            self._failed.pop(self._successor_of.get(new.uid, ""), None)
        if new.available or not old.available:
            return False
        if _is_disrupted(old.obj, new.obj):
            self._trace.count("taken")
            self._trace.note(f"{new.name} is taken")
            return True
        self._trace.count("failures")
        self._trace.note(f"{new.name} fails")
        self._failed[new.uid] = self._revision, new
        return False

    def _depart(self, pod: TruePod) -> None:
        departed = self._departed.setdefault(pod.place, [])
        if pod.uid not in departed and pod.uid not in self._successor_of.values():
            departed.append(pod.uid)

    def _look_at(self, budget: TrueBudget) -> None:
        plan = budget.plan
        obj = self._api.peek(PUBS.full_name, NAMESPACE, plan.name)
        if obj is None or obj is budget.obj:
            return
        budget.obj = obj
        status, ledger = budget.status, budget.ledger
        if not status.get("observedGeneration"):
            return
        budget.counted = True
        self._check_records(plan, ledger)
        seen = int(ledger.get("seen") or 0)
        # A recount of the history that was lost has not seen what came back.
        budget.seen = seen if seen <= self._revision else 0
        budget.records = {
            uid: (budget.records or {}).get(uid) or self._record(plan, uid, record, budget.seen)
            for uid, record in ledger.get("pods", {}).items()
        }
        for uid, (revision, pod) in list(self._returned.items()):
            if revision <= budget.seen and pod.app == plan.app:
                del self._returned[uid]
        records = ", ".join(
            f"{record['name']} {record['operation']} at {record['resourceVersion']}"
            for record in ledger.get("pods", {}).values()
        )
        self._trace.count("status writes")
        self._trace.note(
            f"budget {plan.name}: {status['currentAvailable']} of {status['totalReplicas']},"
            f" {status['unavailableAllowed']} allowed, seen {budget.seen}, down"
            f" {','.join(ledger.get('unavailableGroups', ()))}, ledger: {records}"
        )

    def _check_records(self, plan: BudgetPlan, ledger: Json) -> None:
        for uid, record in ledger.get("pods", {}).items():
            version = record["resourceVersion"]
            if uid not in self._known:
                raise Violation(f"budget {plan.name} records {record['name']}, which never was")
            # What was read before a restore may be written after it: a request under way, or one of
            # a process that does not know yet. The next recount repairs it: that costs only time.
            if not version.isdecimal() or int(version) > self._highest:
                raise Violation(f"budget {plan.name} records {record['name']} at {version}")
        if int(ledger.get("seen") or 0) > self._highest:
            raise Violation(f"budget {plan.name} was counted at {ledger['seen']}")

    def _record(self, plan: BudgetPlan, uid: str, record: Json, seen: int) -> Recorded:
        pod = self.pods.get(uid)
        group: str = record.get("group", "")
        if plan.need is None:
            up = pod is not None and pod.available
            up = up and self._available_since.get(uid, 0) <= int(record["resourceVersion"])
        else:
            up = self._available_by_group(plan).get(group, 0) >= plan.need
            up = up and group not in self._returned_groups(plan)
        return Recorded(seen, group, unit_was_down=not up)

    def _returned_groups(self, plan: BudgetPlan) -> set[str | None]:
        return {pod.group for _, pod in self._returned.values() if pod.app == plan.app}

    def _charge(self, budget: TrueBudget, pod: TruePod, *, was_up: bool) -> None:
        plan, records = budget.plan, budget.records or {}
        grouped = plan.need is not None
        own = [
            record
            for uid, record in records.items()
            if uid == pod.uid or (grouped and record.group == pod.group)
        ]
        returned = grouped and pod.group in self._returned_groups(plan)
        if not was_up or returned or any(record.unit_was_down for record in own):
            self._failed[pod.uid] = self._revision, pod
            return
        known = min([budget.seen, *(record.seen for record in own)])
        excused = [
            failed
            for revision, failed in self._failed.values()
            if failed.app == plan.app and revision > known
        ]
        if grouped and pod.group in self._units(plan, excused):
            return  # a failure that was not seen yet made the surplus a need
        self._check(budget, self.available_units(plan, excused), f"{pod.name} was taken: ")

    def _check(self, budget: TrueBudget, available: int, why: str = "") -> None:
        plan = budget.plan
        if available < plan.desired:
            down = [pod.name for pod in self._members(plan) if not pod.available]
            raise Violation(
                f"{why}budget {plan.name} has {available} of {plan.total} units and desires "
                f"{plan.desired}; not available: {', '.join(down)}"
            )

    def _members(self, plan: BudgetPlan) -> list[TruePod]:
        return [pod for pod in self.pods.values() if pod.app == plan.app]

    def available_units(self, plan: BudgetPlan, excused: Iterable[TruePod] = ()) -> int:
        return min(len(self._units(plan, excused)), plan.total)

    def _units(self, plan: BudgetPlan, excused: Iterable[TruePod] = ()) -> set[str]:
        """The available ones: groups by name, pods by UID."""
        more = [replace(pod, available=True) for pod in excused]
        if plan.need is None:
            return {pod.uid for pod in (*self._members(plan), *more) if pod.available}
        groups = self._available_by_group(plan, more)
        return {name for name, number in groups.items() if number >= plan.need}

    def _available_by_group(self, plan: BudgetPlan, more: Iterable[TruePod] = ()) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for pod in (*self._members(plan), *more):
            assert pod.group is not None, plan
            numbers[pod.group] = numbers.get(pod.group, 0) + pod.available
        return numbers

    def differences(self) -> list[str]:
        """Where a budget's status is not what a count from scratch gives."""
        return [
            f"{budget.plan.name}: {name} is {shown!r} and not {true!r}"
            for budget in self.budgets.values()
            for name, shown, true in self._compared(budget)
            if shown != true
        ]

    def _compared(self, budget: TrueBudget) -> tuple[tuple[str, object, object], ...]:
        plan, status, ledger = budget.plan, budget.status, budget.ledger
        available = self.available_units(plan)
        surplus = (
            {
                name: number - plan.need
                for name, number in self._available_by_group(plan).items()
                if number > plan.need
            }
            if plan.need is not None
            else {}
        )
        return (
            ("currentAvailable", status.get("currentAvailable"), available),
            ("desiredAvailable", status.get("desiredAvailable"), plan.desired),
            ("totalReplicas", status.get("totalReplicas"), plan.total),
            ("unavailableAllowed", status.get("unavailableAllowed"), available - plan.desired),
            ("ledger", ledger.get("pods", {}), {}),
            ("unavailable groups", ledger.get("unavailableGroups", []), []),
            ("surplus", ledger.get("surplus", {}), surplus),
        )
