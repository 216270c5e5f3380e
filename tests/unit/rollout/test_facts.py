"""What is read off the facts of a role."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from intact.model.meta import ObjectMeta
from intact.model.pod import RolePod, RolePodCondition, RolePodStatus
from intact.model.rbg import Role
from intact.model.role_workload import RoleWorkload, RoleWorkloadSpec
from intact.rollout.facts import RoleFacts, workload_facts
from tests.support.rbg_objects import kind, role
from tests.unit.rollout.scene import NOW, Scene, pod


def prefill() -> RoleFacts:
    """Two replicas of the old revision, in a StatefulSet that its controller has observed."""
    return Scene(2, 1).facts["prefill"]


def test_a_role_without_batches_ends_with_what_it_has_now() -> None:
    assert prefill().size == 2
    assert replace(prefill(), size_in_batches=6).size == 6


@pytest.mark.parametrize(
    ("pods", "observed", "expected"),
    [
        pytest.param((True, True), True, True, id="all ready"),
        pytest.param((True, False), True, False, id="one not ready"),
        pytest.param((True, True), False, False, id="not observed yet"),
    ],
)
def test_a_role_serves_once_its_controller_has_seen_it_and_its_pods_are_ready(
    pods: tuple[bool, ...], observed: bool, expected: bool
) -> None:
    facts = prefill()
    found = [pod("prefill", at, "any", ready=ready) for at, ready in enumerate(pods)]
    live = replace(facts.workloads[0], observed=observed)
    assert replace(facts, pods=found, workloads=[live]).is_serving() is expected


def test_a_role_without_a_workload_does_not_serve() -> None:
    assert not replace(prefill(), desired=0, workloads=[]).is_serving()


@pytest.mark.parametrize(
    ("names", "revision", "observed", "expected"),
    [
        pytest.param(["llm-prefill"], "new", True, True, id="updated"),
        pytest.param(["llm-prefill"], "old", True, False, id="not updated yet"),
        pytest.param(["llm-prefill"], "new", False, False, id="just written"),
        pytest.param(["llm-other"], "new", True, False, id="not there yet"),
    ],
)
def test_others_can_be_spared_once_the_kept_workload_serves_with_the_new_revision(
    names: list[str], revision: str, observed: bool, expected: bool
) -> None:
    facts = replace(prefill(), revision="new")
    found = [pod("prefill", at, revision) for at in range(2)]
    live = replace(facts.workloads[0], observed=observed)
    facts = replace(facts, pods=found, workloads=[live])
    assert facts.can_spare_others(names) is expected


def test_pods_of_a_workload_do_not_show_that_it_can_be_spared() -> None:
    facts = replace(prefill(), revision="new")
    found = [pod("prefill", at, "new") for at in range(2)]
    other = replace(facts.workloads[0], name="llm-prefill-b", uid="other")
    facts = replace(facts, pods=found, workloads=[facts.workloads[0], other])
    assert facts.can_spare_others(["llm-prefill"])
    assert not facts.can_spare_others(["llm-prefill-b"])


def test_min_ready_seconds_are_waited_for() -> None:
    since = RolePodCondition(
        type="Ready", status="True", last_transition_time="2025-12-31T23:59:50Z"
    )
    young: RolePod = msgspec.structs.replace(
        pod("prefill", 0, "new"), status=RolePodStatus(phase="Running", conditions=[since])
    )
    facts = replace(prefill(), pods=[young], now=NOW)
    assert facts.is_ready(young)
    assert facts.until_ready() is None
    slow = replace(facts, role=msgspec.structs.replace(facts.role, min_ready_seconds=30))
    assert not slow.is_ready(young)
    assert slow.until_ready() == 20


def stateful_set(generation: int, observed: int, **more: Any) -> RoleWorkload:
    body = {
        "metadata": {"name": "llm-prefill", "uid": "prefill-uid", "generation": generation},
        "spec": {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}},
        "status": {"observedGeneration": observed, **more},
    }
    return msgspec.convert(body, RoleWorkload)


@pytest.mark.parametrize(
    ("generation", "observed", "current", "expected"),
    [
        pytest.param(2, 2, "b", (True, True), id="one template"),
        pytest.param(2, 2, "a", (True, False), id="two templates"),
        pytest.param(2, 1, "b", (False, False), id="not observed yet"),
    ],
)
def test_a_workload_is_settled_once_its_controller_has_seen_its_only_template(
    generation: int, observed: int, current: str, expected: tuple[bool, bool]
) -> None:
    live = stateful_set(generation, observed, currentRevision=current, updateRevision="b")
    found = workload_facts(prefill().role, live)
    assert (found.observed, found.settled) == expected
    assert (found.replicas, found.partition) == (2, 1)


def test_a_leader_worker_set_that_reports_no_generation_counts_as_observed() -> None:
    sets = msgspec.convert(role("decode", **kind("LeaderWorkerSet")), Role)
    assert workload_facts(sets, stateful_set(2, 0)).observed
    assert not workload_facts(sets, stateful_set(2, 1)).observed
    assert not workload_facts(prefill().role, stateful_set(2, 0)).observed


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        pytest.param({}, 0, id="none"),
        pytest.param({"maxUnavailable": 2}, 2, id="a number"),
        pytest.param({"maxUnavailable": 9}, 5, id="more than it has"),
        pytest.param({"maxUnavailable": "25%"}, 2, id="a percentage: no fewer than it takes"),
        pytest.param({"maxUnavailable": "025%"}, 5, id="unreadable: all"),
    ],
)
def test_what_an_update_of_its_own_may_take_down_of_a_deployment(
    amount: dict[str, Any], expected: int
) -> None:
    live = stateful_set(2, 2)
    body = {"replicas": 5, "strategy": {"type": "RollingUpdate", "rollingUpdate": amount}}
    live = msgspec.structs.replace(live, spec=msgspec.convert(body, RoleWorkloadSpec))
    assert workload_facts(prefill().role, live, kind="Deployment").unavailable == expected


def test_an_answer_replaces_the_workload_and_keeps_its_evicted_pods() -> None:
    facts = prefill()
    live = replace(facts.workloads[0], evicted=frozenset({"x"}))
    facts = replace(facts, workloads=[live])
    [found] = facts.with_answer(stateful_set(3, 2)).workloads
    assert not found.observed
    assert found.evicted == {"x"}
    created = msgspec.structs.replace(
        stateful_set(1, 0), metadata=ObjectMeta(name="llm-prefill-b", uid="another")
    )
    assert facts.with_answer(created) == facts


def test_a_workload_in_the_place_of_another_has_nothing_of_it() -> None:
    facts = prefill()
    live = replace(facts.workloads[0], observed=True, evicted=frozenset({"x"}))
    facts = replace(facts, workloads=[live])
    anew = msgspec.structs.replace(
        stateful_set(1, 0), metadata=ObjectMeta(name=live.name, uid="another", generation=1)
    )
    [found] = facts.with_answer(anew).workloads
    assert (found.uid, found.observed, found.evicted) == ("another", False, frozenset())
    going = msgspec.structs.replace(
        stateful_set(3, 3),
        metadata=ObjectMeta(name=live.name, uid=live.uid, deletion_timestamp="now"),
    )
    assert facts.with_answer(going).workloads == []
