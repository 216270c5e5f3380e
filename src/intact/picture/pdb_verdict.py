"""What a PodDisruptionBudget says to a pod that is to be evicted: the API server's own rule, or,
where Intact counts groups, that of its gate."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from intact.budget.native_eviction import Refused, counts_for, is_free, refused
from intact.budget.pdb import group_decision
from intact.budget.pdb.annotations import read_ledger
from intact.budget.pdb.disrupted_pods import recorded_uids, stands_for
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_decision import Subject, as_the_server, decide, problem_of
from intact.budget.pdb.group_recount import ALWAYS_ALLOW
from intact.budget.pdb.group_settings import check_settings, read_settings
from intact.budget.pdb.group_sources import GroupDefinitions
from intact.budget.pdb.ledger_repair import repair
from intact.budget.pdb.pod_counts import is_healthy
from intact.budget.pdb.pods import DISRUPTION_ALLOWED, SYNC_FAILED
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod
from intact.model.pod_state import has_condition
from intact.model.times import timestamp
from intact.picture.budget_verdict import (
    BudgetVerdict,
    allows,
    as_enforced,
    available_text,
    both,
    counted,
    exhausted,
    intact_down,
    never,
    never_allows,
    not_counted,
    not_processed,
    waits,
)
from intact.picture.budgets import BudgetPicture
from intact.picture.reasons import Reason
from intact.picture.units import State

STOCK = "the disruption controller"
_POLICY = "unhealthyPodEvictionPolicy"
_FREE = {
    group_decision.Reason.RECORDED: (Reason.RECORDED, "it was let go already"),
    group_decision.Reason.NOT_READY: (Reason.NOT_AVAILABLE, "it is not ready: it costs nothing"),
    group_decision.Reason.GROUP_UNAVAILABLE: (
        Reason.GROUP_UNAVAILABLE,
        "its group is down already: it costs nothing",
    ),
    group_decision.Reason.SURPLUS: (Reason.SURPLUS, "its group has more pods than it needs"),
}


class LiveGroups:
    """The groups of a budget, counted from the pods of a picture."""

    def __init__(
        self,
        budget: PodDisruptionBudget,
        pods: Iterable[DetailedPod],
        definitions: GroupDefinitions,
    ) -> None:
        self.counts = GroupCounts(read_settings(budget), definitions)
        self._pods: dict[str, DetailedPod] = {}
        for pod in pods:
            self._pods[pod.metadata.name] = pod
            self.counts.put(pod)

    def find(self, name: str) -> DetailedPod | None:
        return self._pods.get(name)


LiveOf = Callable[[BudgetPicture], LiveGroups]


def judge_pdbs(
    found: Sequence[BudgetPicture],
    pod: DetailedPod,
    live_of: LiveOf,
    leading: bool | None,
    now: datetime,
) -> list[BudgetVerdict]:
    """Of all PodDisruptionBudgets that cover the pod."""
    if not counts_for(pod):
        text = "the API server asks no budget about a pod that has not started"
        return [allows(one, Reason.NOT_AVAILABLE, text) for one in found]
    if len(found) > 1:
        names = both([one.reference for one in found])
        text = "the API server evicts no pod that has two PodDisruptionBudgets"
        when = f"only one of {names} covers it"
        return [never(one, Reason.TWO_BUDGETS, text, when) for one in found]
    return [_judge(one, pod, live_of, leading, now) for one in found]


def _judge(
    found: BudgetPicture,
    pod: DetailedPod,
    live_of: LiveOf,
    leading: bool | None,
    now: datetime,
) -> BudgetVerdict:
    budget = found.budget
    assert isinstance(budget, PodDisruptionBudget)
    if not found.in_groups or found.intact is False:
        note = found.not_working if found.in_groups else ""
        if budget.server_decides:
            return _by_server(found, budget, pod)
        return _in_pods(found, budget, pod, note)
    if budget.server_decides:
        return _by_server(found, budget, pod)
    if leading is False:
        return intact_down(found)
    return as_enforced(_in_groups(found, budget, pod, live_of(found), now))


def _in_pods(
    found: BudgetPicture, budget: PodDisruptionBudget, pod: DetailedPod, note: str
) -> BudgetVerdict:
    """As Kubernetes itself has it."""
    status, why = budget.status, refused(pod, [budget])
    match why:
        case None if is_free(pod, budget):
            return allows(found, Reason.NOT_AVAILABLE, "it is not ready: it costs nothing", note)
        case None:
            return allows(found, note=note)
        case Refused.NOT_PROCESSED:
            return not_processed(found, STOCK)
        case Refused.TOO_MANY:
            going = len(status.disrupted_pods)
            text = f"it waits for {going} pods that it has let go"
            return waits(found, Reason.NOT_PROCESSED, text, "these pods have gone")
        case _:
            return _spent(found, pod)


def cannot_be_counted(found: BudgetPicture) -> BudgetVerdict | None:
    """What the budget says if its controller finds no number of pods for it; else None."""
    said = found.condition_of(DISRUPTION_ALLOWED)
    is_so = said is not None and said.reason == SYNC_FAILED
    return not_counted(found, said.message) if said is not None and is_so else None


def invalid(found: BudgetPicture, budget: PodDisruptionBudget) -> BudgetVerdict:
    text = "; ".join(map(str, check_settings(budget)))
    return never(found, Reason.INVALID, text, f"{found.reference} is corrected")


def _spent(found: BudgetPicture, pod: DetailedPod) -> BudgetVerdict:
    if verdict := cannot_be_counted(found):
        return verdict
    if found.never:
        return never_allows(found)
    if not has_condition(pod, "Ready"):
        return _held_unhealthy(found, "the pod is not ready")
    return exhausted(found)


def _held_unhealthy(found: BudgetPicture, state: str) -> BudgetVerdict:
    short = max(1, found.desired - found.current)
    text = f"{available_text(found)}; {state}, and without {_POLICY}: {ALWAYS_ALLOW} it is held"
    are = "is" if short == 1 else "are"
    when = f"{counted(short, f'more {found.unit}')} {are} available"
    return waits(found, Reason.UNHEALTHY, text, when, found.down)


def _by_server(
    found: BudgetPicture, budget: PodDisruptionBudget, pod: DetailedPod
) -> BudgetVerdict:
    """As an API server of KEP-5682 decides, in groups."""
    unit = found.unit_of(pod)
    if not found.counted:
        return not_processed(found, STOCK)
    if unit is None or not unit.is_group or unit.state is State.UNKNOWN:
        return _unknown(found, unit.name if unit is not None and unit.is_group else None)
    if not unit.is_up:
        policy = budget.spec.unhealthy_pod_eviction_policy
        if policy == ALWAYS_ALLOW or found.current >= found.desired:
            return allows(found, *_FREE[group_decision.Reason.GROUP_UNAVAILABLE])
        return _held_unhealthy(found, "its group is down")
    if unit.state is State.SURPLUS:
        return allows(found, *_FREE[group_decision.Reason.SURPLUS])
    return allows(found) if found.allowed > 0 else exhausted(found)


def _in_groups(
    found: BudgetPicture,
    budget: PodDisruptionBudget,
    pod: DetailedPod,
    live: LiveGroups,
    now: datetime,
) -> BudgetVerdict:
    """As Intact's gate decides."""
    ledger = read_ledger(budget)
    if problem := problem_of(budget, ledger):
        if problem.reason is not group_decision.Reason.INVALID:
            return not_processed(found, "Intact")
        return invalid(found, budget)
    if repair(budget, now).problems:
        return not_processed(found, "Intact")
    assert ledger is not None
    subject = _subject(budget, ledger, pod, live, now)
    if live.counts.undefined and not subject.recorded:
        return _unknown(found, *sorted(live.counts.undefined))
    recorded = recorded_uids(budget.status.disrupted_pods, ledger, live.find)
    counts = live.counts.without(recorded)
    decided = as_the_server(budget, pod, decide(budget, ledger, subject, counts, now))
    if decided.allowed:
        return allows(found, *_FREE.get(decided.reason, (Reason.ALLOWED, "")))
    match decided.reason:
        case group_decision.Reason.UNRESOLVED:
            return _unknown(found, subject.group)
        case group_decision.Reason.UNPROVEN:
            text = f"its group needs {subject.need} pods, and no group has had so many"
            when = f"a group has {subject.need} pods, or its need is corrected"
            return never(found, Reason.NEED_NOT_REACHED, text, when)
        case group_decision.Reason.UNHEALTHY if not found.never:
            state = "its group is down" if subject.healthy else "the pod is not ready"
            return _held_unhealthy(found, state)
    if subject.recorded:
        text = "its eviction was allowed and has not happened, and no other pod may go"
        return waits(found, Reason.NOT_GONE, text, "it has gone, or in two minutes")
    return exhausted(found)


def _unknown(found: BudgetPicture, *groups: str | None) -> BudgetVerdict:
    names = [name for name in groups if name is not None]
    if not names:
        text = "the budget counts groups, and the pod belongs to none"
        when = "it names its group, or the selector of the budget leaves it out"
        return never(found, Reason.GROUP_UNKNOWN, text, when)
    text = f"it is unknown how many pods {both(names)} {'needs' if len(names) == 1 else 'need'}"
    units = [unit for unit in found.units if unit.name in names]
    when = f"the PodGroup, Workload or LeaderWorkerSet of {both(names)} exists and says so"
    return waits(found, Reason.GROUP_UNKNOWN, text, when, units)


def _subject(
    budget: PodDisruptionBudget,
    ledger: GroupLedger,
    pod: DetailedPod,
    live: LiveGroups,
    now: datetime,
) -> Subject:
    name, disrupted = pod.metadata.name, budget.status.disrupted_pods
    group = live.counts.group_of(pod.metadata.uid)
    return Subject(
        name=name,
        uid=pod.metadata.uid,
        at=timestamp(now),
        healthy=is_healthy(pod),
        group=group,
        need=live.counts.need_of(group) if group is not None else None,
        recorded=name in disrupted and stands_for(pod, disrupted[name], ledger.pods.get(name)),
        version=pod.metadata.resource_version,
    )
