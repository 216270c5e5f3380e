"""Why pods never go, find no place or do not come back."""

from collections.abc import Iterator

from intact.picture.coverage import PDB, Coverage
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import (
    condition,
    is_finished,
    is_ready,
    is_terminating,
    is_unschedulable,
)
from intact.sandbox.controllers.owned import controller_of
from intact.sandbox.controllers.unknown import Owners
from intact.sandbox.kubectl_drain import LOCAL_STORAGE, UNMANAGED, What
from intact.sandbox.rehearsal.load import UNREAD
from intact.sandbox.rehearsal.report import BudgetReport, Lost, Stuck, Unplaced, Why
from intact.sandbox.rehearsal.stage import Stage, cannot_be_counted
from intact.sandbox.rehearsal.steps import PodSteps
from intact.sandbox.rehearsal.units import PDBS

_TWO_BUDGETS = "more than one PodDisruptionBudget"
_KEPT = {UNMANAGED: Why.BARE, LOCAL_STORAGE: Why.LOCAL_STORAGE}


class Reasons:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._api = stage.api
        self._known = Owners(stage.sandbox.parts)
        self._counts = {
            (each.kind, each.namespace, each.name): each for each in stage.observer.budgets()
        }
        self._waiting = list(_waiting(stage))
        self._waited_for: dict[str, tuple[str, str]] = {}
        """By budget: a pod of it without a node, and what the scheduler says."""
        for pod, message in self._waiting:
            for budget in stage.observer.covering(pod):
                self._waited_for.setdefault(str(budget), (pod["metadata"]["name"], message))
        self._unready: dict[str, list[str]] = {}

    def never(self) -> list[Stuck]:
        return [self._stuck(each) for each in self._stage.steps.stuck(self._is_there)]

    def unplaced(self) -> list[Unplaced]:
        return [
            Unplaced(
                pod["metadata"]["namespace"],
                pod["metadata"]["name"],
                str(self._stage.owners.workload_of(pod)),
                message,
            )
            for pod, message in self._waiting
            if pod["metadata"]["uid"] not in self._stage.waiting_before
        ]

    def lost(self) -> list[Lost]:
        found = []
        for _at, pod in self._stage.observer.ended:
            why = self._why_lost(pod)
            if why:
                found.append(Lost(pod["metadata"]["namespace"], pod["metadata"]["name"], why))
        return found

    def _is_there(self, namespace: str, name: str, uid: str) -> bool:
        found = self._api.peek("pods", namespace, name)
        return found is not None and found["metadata"]["uid"] == uid

    def _stuck(self, steps: PodSteps) -> Stuck:
        pod = self._api.peek("pods", steps.namespace, steps.name)
        budgets = self._stage.observer.covering(pod) if pod is not None else []
        why, message = self._why(steps, budgets)
        names = [str(each) for each in budgets]
        return Stuck(steps.namespace, steps.name, steps.node, why, message, names)

    def _why(self, steps: PodSteps, budgets: list[Coverage]) -> tuple[Why, str]:
        match steps.what:
            case What.KEPT:
                return _KEPT.get(steps.why, Why.FAILED), steps.why
            case What.EVICTED:
                return Why.STAYS, f"its eviction was granted, and {self._holder(steps)}"
            case What.FAILED if _TWO_BUDGETS in steps.why:
                return Why.TWO_BUDGETS, steps.why
            case What.FAILED:
                return Why.FAILED, steps.why
        return self._refused(steps, budgets)

    def _holder(self, steps: PodSteps) -> str:
        """What keeps a pod that terminates."""
        pod = self._api.peek("pods", steps.namespace, steps.name) or {"metadata": {}}
        node = self._api.peek("nodes", "", steps.node)
        if not pod["metadata"].get("finalizers") and node is not None and not is_ready(node):
            return "its node is not ready: no kubelet ends it"
        return "a finalizer holds it"

    def _refused(self, steps: PodSteps, budgets: list[Coverage]) -> tuple[Why, str]:
        for budget in budgets:
            failed = self._not_counted(budget)
            if failed:
                return Why.NOT_COUNTED, f"{budget} cannot be counted: {failed}"
        for budget in budgets:
            count = self._counts[budget.kind, budget.namespace, budget.name]
            if count.expected and count.desired >= count.expected:
                return Why.NEVER_ALLOWS, f"{_required(budget, count)}. {steps.why}"
        for budget in budgets:
            if str(budget) in self._waited_for:
                name, message = self._waited_for[str(budget)]
                return (
                    Why.NO_ROOM,
                    f"{budget} waits for pod {name}: {message.rstrip('.')}. {steps.why}",
                )
        for budget in budgets:
            unready = self._unready_of(budget)
            if unready:
                names = ", ".join(unready[:3]) + (", …" if len(unready) > 3 else "")
                return Why.NOT_READY, f"{budget} waits for unready pods: {names}. {steps.why}"
        for budget in budgets:
            gone = self._gone_of(budget)
            if gone:
                return Why.REFUSED, f"{budget} misses {gone}, which does not come back. {steps.why}"
        return Why.REFUSED, steps.why

    def _not_counted(self, budget: Coverage) -> str:
        if budget.kind != PDB:
            return ""
        found = self._api.peek(PDBS, budget.namespace, budget.name)
        return cannot_be_counted(found) if found is not None else ""

    def _gone_of(self, budget: Coverage) -> str:
        """The first pod of it that is lost."""
        for _at, pod in self._stage.observer.ended:
            if budget in self._stage.observer.covering(pod) and self._why_lost(pod):
                return f"pod {pod['metadata']['name']}"
        return ""

    def _unready_of(self, budget: Coverage) -> list[str]:
        if str(budget) not in self._unready:
            self._unready[str(budget)] = self._find_unready(budget)
        return self._unready[str(budget)]

    def _find_unready(self, budget: Coverage) -> list[str]:
        return [
            pod["metadata"]["name"]
            for pod in self._api.objects("pods", budget.namespace)
            if pod["spec"].get("nodeName")
            and not is_ready(pod)
            and not is_finished(pod)
            and budget in self._stage.observer.covering(pod)
        ]

    def _why_lost(self, pod: Json) -> str:
        owner = controller_of(pod)
        unread = owner is not None and owner["apiVersion"] == UNREAD
        if owner is not None and unread and self._known.is_named(owner["kind"]):
            return f"{owner['kind']} {owner['name']}, which controls it, is not in the snapshot"
        return self._known.why_lost(pod)


def _waiting(stage: Stage) -> Iterator[tuple[Json, str]]:
    """The pods without a node, with what the scheduler says."""
    for pod in stage.api.objects("pods"):
        if is_unschedulable(pod) and not is_terminating(pod):
            yield pod, (condition(pod, "PodScheduled") or {}).get("message", "")


def _required(budget: Coverage, count: BudgetReport) -> str:
    units = f"{count.unit}s" if count.expected != 1 else count.unit
    return f"{budget} requires {count.desired} of {count.expected} {units}, so none may ever go"
