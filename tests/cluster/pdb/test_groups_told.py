"""What a PodDisruptionBudget tells its author: by warnings, conditions and events."""

from functools import partial

import pytest

from intact.model.pdb import PodDisruptionBudget
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import Json
from tests.support.pdb_groups import SCOPE, Groups, condition, spread

KEY, NEED = "intact.dev/group-label-key", "intact.dev/min-ready-replicas"
EXPECTED = "intact.dev/expected-replicas"
MOST = 2**31 - 1


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


def budget(groups: Groups, labels: Json, annotations: Json, **spec: object) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "llm", "labels": labels, "annotations": annotations},
        "spec": {"selector": {"matchLabels": groups.labels}, **spec},
    }


async def apply(ns: NamespaceUnderTest, body: Json) -> str:
    code, said = await ns.kubectl("apply", "-f", "-", stdin=body)
    assert code == 0, said
    return said


async def test_a_need_that_no_group_can_reach_lets_nothing_go_and_is_told(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    for name in ("red", "blue"):
        await ns.pods(*spread(name, 3, "node-0"), labels={**groups.labels, "shard": name})
    labels = {SCOPE: "Workload"}
    body = budget(
        groups, labels, {KEY: "shard", NEED: "8"},
        maxUnavailable=1, unhealthyPodEvictionPolicy="AlwaysAllow",
    )  # fmt: skip
    both = "groups need 8 pods, and the largest has 3"
    assert f"Warning: {both}" in await apply(ns, body)
    found = await groups.counted(allowed=0, healthy=0, disruptions_allowed=0)
    status, reason, message = condition(found, "BudgetConfigured")
    assert (status, reason) == ("False", "NeedNotReached")
    assert both in message
    assert {(await ns.evict(f"{name}-0")).code for name in ("red", "blue")} == {429}
    await eventually(
        lambda: ns.kubectl("get", "events", "-o", "wide"),
        lambda answer: "Warning" in answer[1] and both in answer[1],
        "a warning event",
    )
    # With a need that the groups have, the budget works.
    said = await apply(ns, budget(groups, labels, {KEY: "shard", NEED: "3"}, maxUnavailable=1))
    assert "Warning" not in said
    found = await groups.counted(allowed=1, healthy=2, disruptions_allowed=3)
    assert condition(found, "BudgetConfigured")[:2] == ("True", "ValidConfig")
    # One that can never allow anything says so.
    said = await apply(ns, budget(groups, labels, {KEY: "shard", NEED: "3"}, maxUnavailable=0))
    assert "never allows a disruption" in said
    found = await groups.counted(allowed=0, healthy=2, disruptions_allowed=0)
    assert condition(found, "BudgetConfigured")[1] == "NeverAllows"


@pytest.mark.parametrize(
    ("annotations", "spec", "configured", "told"),
    [
        ({NEED: "3"}, {"minAvailable": MOST}, ("True", "NeverAllows"), "never allows a disruption"),
        ({NEED: str(MOST)}, {"maxUnavailable": "1%"}, ("False", "NeedNotReached"), f"need {MOST}"),
        (
            {NEED: "3", EXPECTED: str(MOST)}, {"maxUnavailable": 1},
            ("True", "ValidConfig"), f"2 of {MOST} groups are available",
        ),
        (
            {NEED: "3", EXPECTED: "0"}, {"maxUnavailable": 1},
            ("True", "NeverAllows"), "It never allows a disruption",
        ),
        ({NEED: "3"}, {}, ("True", "NeverAllows"), "It never allows a disruption"),
    ],
)  # fmt: skip
async def test_a_budget_with_the_largest_numbers_is_counted_and_says_what_it_waits_for(
    ns: NamespaceUnderTest,
    groups: Groups,
    annotations: Json,
    spec: Json,
    configured: tuple[str, str],
    told: str,
) -> None:
    for name in ("red", "blue"):
        await ns.pods(*spread(name, 3, "node-0"), labels={**groups.labels, "shard": name})
    said = await apply(
        ns, budget(groups, {SCOPE: "Workload"}, {KEY: "shard", **annotations}, **spec)
    )
    found = await groups.counted(allowed=0, disruptions_allowed=0)
    assert condition(found, "BudgetConfigured")[:2] == configured
    assert ("Warning" in said) == (configured[1] != "ValidConfig")
    answer = await ns.evict("red-0")
    assert answer.code == 429
    assert told in answer.message or told in said


def says(text: str, found: PodDisruptionBudget) -> bool:
    return any(
        each.type == "BudgetConfigured" and each.status == "False" and text in each.message
        for each in found.status.conditions
    )


async def test_keys_without_effect_are_told_with_the_label_and_without(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    wrong: list[tuple[Json, Json, str]] = [
        ({}, {KEY: "shard"}, "has no effect without the label"),
        ({}, {SCOPE: "Workload"}, "it is a label of PodDisruptionBudgets"),
        ({"intact.dev/budget-scop": "Workload"}, {}, "did you mean intact.dev/budget-scope?"),
        ({SCOPE: "Workload"}, {"intact.dev/group-labelkey": "x"}, f"did you mean {KEY}?"),
    ]
    for labels, annotations, text in wrong:
        said = await apply(ns, budget(groups, labels, annotations, maxUnavailable=1))
        assert "Warning: " in said
        assert text in said
        await eventually(groups.stored, partial(says, text), f"a condition with {text!r}")
    said = await apply(ns, budget(groups, {}, {}, maxUnavailable=1))
    assert "Warning" not in said
    await eventually(
        groups.stored,
        lambda found: [each.type for each in found.status.conditions] == ["DisruptionAllowed"],
        "the condition of the stock controller alone",
    )
