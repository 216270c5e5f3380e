"""What is true on the API, looked at after every step, and the rules that must hold there.

An operation that was admitted takes effect when the pod gets its deletionTimestamp, its new image
or the label that marks it unavailable. At that moment:

- The units that are then available are at least as many as the budget desires.
- A pod that failed on its own is nobody's fault as long as no recount has looked at its failure,
  or if it failed only after the operation was recorded: then it counts as if it were available.
- A group is likewise nobody's fault if one of its pods recovered on its own and no recount has
  looked at that: everybody had to take it for broken.

Without failures the first rule holds at every step, not only when something takes effect.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from intact.budget.pods import UNAVAILABLE_LABEL_PREFIX
from intact.kube.memory import MemoryApi
from intact.kube.resources import PUBS
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
    def app(self) -> str:
        app: str = self.obj["metadata"]["labels"]["app"]
        return app

    @property
    def group(self) -> str | None:
        group: str | None = self.obj["metadata"]["labels"].get(GROUP_KEY)
        return group


@dataclass(slots=True)
class TrueBudget:
    plan: BudgetPlan
    obj: Json | None = None
    seen: int = 0
    counted: bool = False

    @property
    def status(self) -> Json:
        status: Json = (self.obj or {}).get("status") or {}
        return status

    @property
    def ledger(self) -> Json:
        ledger: Json = self.status.get("ledger") or {}
        return ledger


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
    """An image that is not the one that runs has its restart before it."""
    return (
        is_ready(pod)
        and not is_terminating(pod)
        and not is_marked(pod)
        and pod["status"]["containerStatuses"][0]["imageID"] == image_id(image_of(pod))
    )


class Truth:
    def __init__(self, api: MemoryApi, scenario: Scenario, trace: Trace) -> None:
        self.pods: dict[str, TruePod] = {}
        self.budgets = {plan.name: TrueBudget(plan) for plan in scenario.budgets}
        self.restarting: dict[str, None] = {}
        """Pods whose kubelet has begun to restart them."""
        self.on_pod: Callable[[str, Json | None], None] = lambda _uid, _pod: None
        """Told of every pod that changes."""
        self._api = api
        self._strict = not scenario.failures
        self._trace = trace
        self._revision = 0
        self._failed: dict[str, tuple[int, TruePod]] = {}
        self._recorded: dict[tuple[str, str], int] = {}
        self._recovered: dict[str, tuple[int, TruePod]] = {}

    def observe(self) -> None:
        """After every step."""
        if self._api.revision == self._revision:
            return
        self._revision = self._api.revision
        units = {name: self.available_units(each.plan) for name, each in self.budgets.items()}
        taken = self._look_at_pods()
        for name, budget in self.budgets.items():
            self._look_at(budget)
            hit = [pod for pod in taken if pod.app == budget.plan.app]
            if hit and budget.counted and self.available_units(budget.plan) < units[name]:
                self._charge(budget, hit)
        if self._strict:
            for budget in self.budgets.values():
                if budget.counted:
                    self._check(budget, self.available_units(budget.plan), "")

    def _look_at_pods(self) -> list[TruePod]:
        """Returns the available pods that admitted operations have just taken."""
        taken = []
        here: dict[str, TruePod] = {}
        for obj in self._api.objects("pods", NAMESPACE):
            uid = obj["metadata"]["uid"]
            old = self.pods.get(uid)
            restarting = uid in self.restarting
            if old is not None and old.obj is obj and old.restarting == restarting:
                here[uid] = old
                continue
            new = here[uid] = TruePod(obj, _is_available(obj) and not restarting, restarting)
            if old is not None and old.available and not new.available:
                if _is_disrupted(old.obj, obj):
                    taken.append(new)
                    self._trace.count("taken")
                    self._trace.note(f"{new.name} is taken")
                else:
                    self._failed[uid] = self._revision, new
                    self._trace.count("failures")
                    self._trace.note(f"{new.name} fails")
            elif old is not None and new.available and not old.available:
                self._trace.note(f"{new.name} is available")
                self._recover(uid, new)
            if old is None or old.obj is not obj:
                self.on_pod(uid, obj)
        gone = [uid for uid in self.pods if uid not in here]
        self.pods = here
        for uid in gone:
            self._recovered.pop(uid, None)
            self.on_pod(uid, None)
        return taken

    def _recover(self, uid: str, pod: TruePod) -> None:
        """It is there again, or stands in for one that failed and is gone."""
        if self._strict:
            return
        self._recovered[uid] = self._revision, pod
        if self._failed.pop(uid, None) is None:
            for gone, (_, failed) in self._failed.items():
                if gone not in self.pods and (failed.app, failed.group) == (pod.app, pod.group):
                    del self._failed[gone]
                    return

    def _look_at(self, budget: TrueBudget) -> None:
        obj = self._api.peek(PUBS.full_name, NAMESPACE, budget.plan.name)
        if obj is None or obj is budget.obj:
            return
        budget.obj = obj
        status, ledger = budget.status, budget.ledger
        if not status.get("observedGeneration"):
            return
        budget.counted = True
        budget.seen = int(ledger.get("seen") or 0)
        for uid, (revision, pod) in list(self._recovered.items()):
            if revision <= budget.seen and pod.app == budget.plan.app:
                del self._recovered[uid]
        name = budget.plan.name
        self._recorded = {
            key: revision
            for key, revision in self._recorded.items()
            if key[0] != name or key[1] in ledger.get("pods", {})
        }
        for uid in ledger.get("pods", {}):
            self._recorded.setdefault((name, uid), self._revision)
        records = ", ".join(
            f"{record['name']} {record['operation']} at {record['resourceVersion']}"
            for record in ledger.get("pods", {}).values()
        )
        self._trace.count("status writes")
        self._trace.note(
            f"budget {budget.plan.name}: {status['currentAvailable']} of {status['totalReplicas']},"
            f" {status['unavailableAllowed']} allowed, seen {budget.seen}, down"
            f" {','.join(ledger.get('unavailableGroups', ()))}, ledger: {records}"
        )

    def _charge(self, budget: TrueBudget, taken: list[TruePod]) -> None:
        plan = budget.plan
        recovered = {pod.group for _, pod in self._recovered.values() if pod.app == plan.app}
        if plan.need is not None and any(pod.group in recovered for pod in taken):
            return
        recorded = [
            self._recorded.get((plan.name, pod.obj["metadata"]["uid"]), self._revision)
            for pod in taken
        ]
        known = min([budget.seen, *recorded])
        excused = [
            failed
            for revision, failed in self._failed.values()
            if failed.app == plan.app and revision > known
        ]
        names = ", ".join(pod.name for pod in taken)
        self._check(budget, self.available_units(plan, excused), f"{names} was taken: ")

    def _check(self, budget: TrueBudget, available: int, why: str) -> None:
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
        pods = [pod for pod in self._members(plan) if pod.available]
        pods += [replace(pod, available=True) for pod in excused]
        if plan.need is None:
            return min(len(pods), plan.total)
        return sum(number >= plan.need for number in _by_group(pods).values())

    def surplus(self, plan: BudgetPlan) -> dict[str, int]:
        if plan.need is None:
            return {}
        groups = _by_group(pod for pod in self._members(plan) if pod.available)
        return {name: number - plan.need for name, number in groups.items() if number > plan.need}

    def differences(self) -> list[str]:
        """Where a budget's status is not what a count from scratch gives."""
        return [
            f"{budget.plan.name}: {name} is {shown!r} and not {true!r}"
            for budget in self.budgets.values()
            for name, shown, true in self._compared(budget)
            if shown != true
        ]

    def _compared(self, budget: TrueBudget) -> Collection[tuple[str, object, object]]:
        plan, status, ledger = budget.plan, budget.status, budget.ledger
        available = self.available_units(plan)
        return (
            ("currentAvailable", status.get("currentAvailable"), available),
            ("desiredAvailable", status.get("desiredAvailable"), plan.desired),
            ("totalReplicas", status.get("totalReplicas"), plan.total),
            ("unavailableAllowed", status.get("unavailableAllowed"), available - plan.desired),
            ("ledger", ledger.get("pods", {}), {}),
            ("unavailable groups", ledger.get("unavailableGroups", []), []),
            ("surplus", ledger.get("surplus", {}), self.surplus(plan)),
        )


def _is_disrupted(old: Json, new: Json) -> bool:
    """Whether the change is what the gate is asked about."""
    return (
        (is_terminating(new) and not is_terminating(old))
        or image_of(new) != image_of(old)
        or (is_marked(new) and not is_marked(old))
    )


def _by_group(pods: Iterable[TruePod]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for pod in pods:
        assert pod.group is not None
        numbers[pod.group] = numbers.get(pod.group, 0) + 1
    return numbers
