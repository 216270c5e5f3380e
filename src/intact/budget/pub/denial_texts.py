"""What a denial says: which budget, what it has, what it requires, what it waits for."""

from datetime import datetime

from intact.budget.label_groups import is_batch_key
from intact.budget.pub.conditions import TOTAL_UNKNOWN
from intact.budget.pub.kept_pods import next_forgotten
from intact.budget.pub.node_deadline import NodeDeadline
from intact.budget.pub.settings import UNHEALTHY_POLICY, UnhealthyPolicy
from intact.budget.pub.subject import Subject
from intact.model.listing import listed
from intact.model.pub import PodUnavailableBudget, PubStatus
from intact.model.times import timestamp_after


def unreadable_text(budget: PodUnavailableBudget, problem: str) -> str:
    return (
        f"The budget {budget.metadata.name} cannot be read, so its pods stay: {problem}. Correct "
        "the budget, or delete it."
    )


def outlook_text(deadline: NodeDeadline, is_ignored: bool) -> str:
    said = ""
    if deadline.text:
        then = "which this budget ignores" if is_ignored else "then it may go in any case"
        said = f" Its {deadline.text}{',' if is_ignored else ':'} {then}."
    return f"{said} {deadline.problem}." if deadline.problem else said


def not_processed_text(budget: PodUnavailableBudget) -> str:
    name = budget.metadata.name
    return f"Intact is still counting the pods of the budget {name}; try again in a moment."


def unhealthy_text(budget: PodUnavailableBudget, pod: Subject, available: int) -> str:
    state = "its group is not available" if pod.available else "it is not ready"
    return (
        f"{exhausted_text(budget, pod, available)} With {UNHEALTHY_POLICY}: "
        f"{UnhealthyPolicy.IF_HEALTHY_BUDGET} the pod is held although {state}."
    )


def being_repaired_text(budget: PodUnavailableBudget) -> str:
    return (
        f"The ledger of the budget {budget.metadata.name} states a time that is not in the past; "
        "Intact is repairing it, try again in a moment."
    )


def stayed_text(budget: PodUnavailableBudget, pod: Subject, until: datetime) -> str:
    return (
        f"The budget {budget.metadata.name} has let pod {pod.name} go already, but the pod is "
        "still here: something else refuses the request, such as another webhook or a "
        f"PodDisruptionBudget. Other pods go first until {timestamp_after(until)}."
    )


def held_text(budget: PodUnavailableBudget, pod: Subject, until: datetime) -> str:
    records = budget.status.ledger.pods.values()
    others = sorted(record.name for record in records if record.group == pod.group)
    return (
        f"Pod {pod.name} of group {pod.group!r} cannot go now: the budget {budget.metadata.name} "
        f"has let {_counted('pod', others)} of the group go already, but nothing has gone: "
        "something else refuses the request, such as another webhook or a PodDisruptionBudget. It "
        f"waits until {timestamp_after(until)}."
    )


def exhausted_text(budget: PodUnavailableBudget, pod: Subject, available: int) -> str:
    status = budget.status
    unit = "groups" if budget.spec.pod_group_policy and status.ledger.reached else "pods"
    whose = f"Pod {pod.name}"
    if pod.group is not None:
        whose += f" of group {pod.group!r}"
    return (
        f"{whose} cannot go now: "
        f"{available} of {status.total_replicas} {unit} are available; "
        f"the budget {budget.metadata.name} requires {status.desired_available}. "
        f"{_waits_for(status)}{_one_by_one(budget)}"
    )


def _one_by_one(budget: PodUnavailableBudget) -> str:
    policy = budget.spec.pod_group_policy
    if policy is None or budget.status.ledger.reached or not budget.status.total_replicas:
        return ""
    asked = policy.min_ready_replicas
    if asked is None and is_batch_key(policy.group_label_key):
        return " No batch has all its pods: until one has, the budget holds its pods one by one."
    return (
        f" No group has as many pods as minReadyReplicas ({asked or 1}) asks "
        "for: until one has, the budget holds its pods one by one."
    )


def _waits_for(status: PubStatus) -> str:
    ledger = status.ledger
    for condition in status.conditions:
        if condition.type == TOTAL_UNKNOWN and condition.status == "True":
            return f"It allows nothing now: {condition.message}."
    if not status.total_replicas:
        return "It waits for Intact to count its new pods."
    if status.desired_available >= status.total_replicas:
        return "This budget never allows a disruption: change the budget, or scale up first."
    if groups := ledger.unavailable_groups:
        return f"It waits for {_counted('group', groups)} to be ready again."
    if ledger.pods:
        names = sorted(record.name for record in ledger.pods.values())
        return f"It waits for {_counted('pod', names)} to be replaced and ready."
    if moment := next_forgotten(ledger.kept.values()):
        return (
            "It waits for successors of pods that are gone; without any, it expects fewer pods "
            f"from {timestamp_after(moment)} on."
        )
    return "It waits for pods to become ready."


def _counted(noun: str, names: list[str]) -> str:
    """`pod a`, or `pods a, b and 3 more`."""
    return f"{noun}{'s' if len(names) > 1 else ''} {listed(names)}"
