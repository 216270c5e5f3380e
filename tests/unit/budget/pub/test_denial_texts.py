"""What a denial says, for each state of a budget."""

import pytest
from msgspec import structs

from intact.budget.pub.conditions import total_unknown
from intact.budget.pub.subject import Subject
from intact.model.pub import KeptPods, PodGroupPolicy, PodUnavailableBudget
from intact.model.times import timestamp
from tests.unit.budget.pub.decisions import NOW, ask, budget, pod, record

MESSAGES: dict[str, tuple[Subject, PodUnavailableBudget, str]] = {
    "pods, nothing under way": (
        pod(),
        budget(allowed=0),
        (
            "Pod p0 cannot go now: 9 of 10 pods are available; the budget web requires 9. "
            "It waits for pods to become ready."
        ),
    ),
    "pods, one under way": (
        pod(),
        budget(allowed=0, pods={"uid-1": record("p1")}),
        (
            "Pod p0 cannot go now: 9 of 10 pods are available; the budget web requires 9. "
            "It waits for pod p1 to be replaced and ready."
        ),
    ),
    "pods, some under way": (
        pod(),
        budget(allowed=0, pods={"uid-2": record("p2"), "uid-1": record("p1")}),
        (
            "Pod p0 cannot go now: 9 of 10 pods are available; the budget web requires 9. "
            "It waits for pods p1, p2 to be replaced and ready."
        ),
    ),
    "pods, some gone without a successor": (
        pod(),
        budget(allowed=0, kept={"": KeptPods(pods=10, gone={timestamp(NOW): 1, "soon": 1})}),
        (
            "Pod p0 cannot go now: 9 of 10 pods are available; the budget web requires 9. "
            "It waits for successors of pods that are gone; without any, it expects fewer pods "
            "from 2026-01-01T12:02:00Z on."
        ),
    ),
    "groups": (
        pod(group="s1"),
        budget(allowed=0, desired=3, total=4, groups=True, unavailable_groups=["s0"]),
        (
            "Pod p0 of group 's1' cannot go now: 3 of 4 groups are available; "
            "the budget web requires 3. It waits for group s0 to be ready again."
        ),
    ),
    "many groups": (
        pod(group="s9"),
        budget(
            allowed=0,
            desired=3,
            groups=True,
            unavailable_groups=[f"s{number}" for number in range(7)],
        ),
        (
            "Pod p0 of group 's9' cannot go now: 3 of 10 groups are available; "
            "the budget web requires 3. "
            "It waits for groups s0, s1, s2, s3, s4 and 2 more to be ready again."
        ),
    ),
    "a pod without a group": (
        pod(),
        budget(allowed=0, desired=3, total=4, groups=True),
        (
            "Pod p0 cannot go now: 3 of 4 groups are available; the budget web requires 3. "
            "It waits for pods to become ready."
        ),
    ),
    "all must stay": (
        pod(),
        budget(allowed=0, desired=10, total=10),
        (
            "Pod p0 cannot go now: 10 of 10 pods are available; the budget web requires 10. "
            "This budget never allows a disruption: change the budget, or scale up first."
        ),
    ),
    "nothing was there to be counted, and now something is": (
        pod(),
        budget(allowed=0, desired=0, total=0),
        (
            "Pod p0 cannot go now: 0 of 0 pods are available; the budget web requires 0. "
            "It waits for Intact to count its new pods."
        ),
    ),
    "the total is not known": (
        pod(),
        structs.replace(
            budget(allowed=0),
            status=structs.replace(
                budget(allowed=0).status, conditions=[total_unknown("a scale cannot be read")]
            ),
        ),
        (
            "Pod p0 cannot go now: 9 of 10 pods are available; the budget web requires 9. "
            "It allows nothing now: a scale cannot be read."
        ),
    ),
    "not counted yet": (
        pod(),
        budget(observed=0),
        "Intact is still counting the pods of the budget web; try again in a moment.",
    ),
}


@pytest.mark.parametrize("case", MESSAGES.values(), ids=MESSAGES)
def test_a_denial_says_which_budget_what_it_has_and_what_it_waits_for(
    case: tuple[Subject, PodUnavailableBudget, str],
) -> None:
    subject, asked, message = case
    decision = ask(asked, subject)
    assert (decision.allowed, decision.message) == (False, message)


def test_a_denial_says_that_pods_are_held_one_by_one() -> None:
    denial = ask(budget(allowed=0, groups=True, reached=False), pod(group="g1"))
    assert "9 of 10 pods are available" in denial.message
    assert "No group has as many pods as minReadyReplicas (1) asks for" in denial.message
    assert "one by one" not in ask(budget(allowed=0, groups=True), pod(group="g1")).message
    assert "one by one" not in ask(budget(allowed=0), pod()).message
    batches = budget(allowed=0, groups=True, reached=False)
    key = "batch.coordination.workloads.x-k8s.io/pair"
    policy = PodGroupPolicy(group_label_key=key)
    spec = structs.replace(batches.spec, pod_group_policy=policy)
    denial = ask(structs.replace(batches, spec=spec), pod(group="llm/0"))
    assert "No batch has all its pods: until one has" in denial.message
