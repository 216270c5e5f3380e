"""Findings about groups."""

from typing import Any

import msgspec
import pytest

from intact.model.scheduling import PodGroup
from intact.picture.findings.groups import about_groups
from tests.support.findings import LWS, WORKLOAD, codes, pdb, pods, pub, set_pods, subject

KEY = f"{LWS}/group-key"
BATCH = "batch.coordination.workloads.x-k8s.io/b"


def policy(need: int | None, key: str = KEY) -> Any:
    given = {"groupLabelKey": key} | ({} if need is None else {"minReadyReplicas": need})
    return pub(maxUnavailable=1, podGroupPolicy=given)


def labelled(key: str, need: str = "") -> Any:
    annotations = {"intact.dev/group-label-key": key}
    annotations |= {"intact.dev/min-ready-replicas": need} if need else {}
    return pdb(maxUnavailable=1, labels=WORKLOAD, annotations=annotations)


def pod_group(name: str, need: int) -> PodGroup:
    spec = {"schedulingPolicy": {"gang": {"minCount": need}}}
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "apps"}, "spec": spec}, PodGroup
    )


def in_pod_group(name: str, number: int) -> Any:
    return pods(number, name, spec={"schedulingGroup": {"podGroupName": name}})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((pdb(maxUnavailable=1), pods(3)), []),
        ((pdb(maxUnavailable=1), set_pods(3, 1)), []),
        ((pdb(maxUnavailable=1), set_pods(3, 4)), [("IB301", "warning")]),
        ((pdb(maxUnavailable=1, labels={"intact.dev/budget-scope": "Pod"}), set_pods(3, 4)), []),
        ((pub(maxUnavailable=1), set_pods(3, 4)), [("IB301", "warning")]),
        ((pdb(maxUnavailable=1), pod_group("g", 3), in_pod_group("g", 3)), [("IB301", "warning")]),
        ((pdb(maxUnavailable=1), pods(3, labels={BATCH: "0"})), [("IB301", "warning")]),
        ((pdb(maxUnavailable=1, labels=WORKLOAD), set_pods(3, 4)), []),
        ((pdb(maxUnavailable=1, labels=WORKLOAD), pods(3)), [("IB302", "error")]),
        ((labelled("shard", "1"), pods(3)), [("IB302", "error")]),
        ((policy(1, "shard"), pods(3)), [("IB302", "warning")]),
        ((policy(5), set_pods(3, 4)), [("IB303", "error")]),
        ((labelled(KEY, "5"), set_pods(3, 4)), [("IB303", "error")]),
        (
            (pdb(maxUnavailable=1, labels=WORKLOAD), pod_group("g", 4), in_pod_group("g", 3)),
            [("IB303", "error")],
        ),
        ((pdb(maxUnavailable=1, labels=WORKLOAD), in_pod_group("g", 3)), [("IB304", "note")]),
        ((policy(4), set_pods(2, 4), set_pods(1, 3, "other")), [("IB305", "warning")]),
        ((policy(4), set_pods(3, 4)), []),
        ((policy(None), set_pods(3, 4)), [("IB306", "warning")]),
        ((policy(None), set_pods(3, 1)), []),
        ((labelled(KEY), set_pods(3, 4)), [("IB306", "warning")]),
        (
            (policy(4, f"{LWS}/group-index"), set_pods(2, 4), set_pods(2, 4, "other")),
            [("IB307", "warning")],
        ),
        ((policy(4, f"{LWS}/group-index"), set_pods(2, 4)), []),
    ],
)
def test_groups(given: Any, found: list[tuple[str, str]]) -> None:
    assert codes(about_groups(subject(*given))) == found


def test_an_unknown_definition_is_an_error_in_a_cluster() -> None:
    budget = pdb(maxUnavailable=1, labels=WORKLOAD)
    assert codes(about_groups(subject(budget, in_pod_group("g", 3), live=True))) == [
        ("IB304", "error")
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            (pdb(maxUnavailable=1), set_pods(3, 4)),
            "set the label intact.dev/budget-scope: Workload;",
        ),
        (
            (pub(maxUnavailable=1), set_pods(3, 4)),
            f"spec.podGroupPolicy: {{groupLabelKey: {KEY}, minReadyReplicas: 4}}",
        ),
        ((pdb(), pods(3, labels={BATCH: "0"})), f"intact.dev/group-label-key: {BATCH}"),
    ],
)
def test_the_setting_is_proposed(given: Any, said: str) -> None:
    [found] = about_groups(subject(*given))
    assert said in found.action


@pytest.mark.parametrize(
    ("kind", "condition", "code"),
    [
        ("MinReadyReplicasUnreachable", "GroupsTooSmall", "IB303"),
        ("MinReadyReplicasUnreachable", "SomeGroupsTooSmall", "IB305"),
    ],
)
def test_where_intact_counts_the_budget_says_it_itself(
    kind: str, condition: str, code: str
) -> None:
    told = {"type": kind, "status": "True", "reason": condition, "message": "told"}
    budget = msgspec.structs.replace(
        policy(8), status=pub(status={"observedGeneration": 1, "conditions": [told]}).status
    )
    [found] = about_groups(subject(budget, set_pods(3, 4), live=True, intact=True))
    assert (found.code, found.message) == (code, "told")


def test_pods_that_are_missing_for_a_moment_are_no_finding_where_intact_counts() -> None:
    assert codes(about_groups(subject(policy(8), set_pods(3, 4), live=True, intact=True))) == []
