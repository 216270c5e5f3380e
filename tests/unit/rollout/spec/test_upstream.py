"""Fields of the upstream API: honoured, without effect, or refused with a reason."""

import msgspec
import pytest

from intact.model.rbg import RbgSpec, Role, RoleBasedGroup
from intact.rollout.spec.upstream import refusals, restart_policy, warnings
from intact.rollout.spec.validation import unworkable, validate
from tests.support.rbg_cases import Case
from tests.support.rbg_objects import group, kind, role
from tests.support.rbg_upstream import HONOURED, REFUSED_UPSTREAM, rollout


def read(body: object) -> RoleBasedGroup:
    return msgspec.convert(body, RoleBasedGroup)


@pytest.mark.parametrize("case", HONOURED, ids=lambda case: case.name)
def test_what_intact_honours_is_accepted(case: Case) -> None:
    assert validate(read(case.body)) == []
    assert unworkable(read(case.body)) == []


@pytest.mark.parametrize("case", REFUSED_UPSTREAM, ids=lambda case: case.name)
def test_what_intact_cannot_do_is_refused_at_its_field(case: Case) -> None:
    errors = validate(read(case.body))
    assert any(e.path.startswith(case.field) and case.message in e.body for e in errors), errors


def test_nothing_is_refused_of_a_spec_without_such_fields() -> None:
    assert list(refusals(read(group("llm", role("prefill"))).spec)) == []


@pytest.mark.parametrize(
    ("workload", "policy", "expected"),
    [
        ("LeaderWorkerSet", "None", "None"),
        ("LeaderWorkerSet", "", "RecreateGroupOnPodRestart"),
        ("LeaderWorkerSet", "RecreateRoleInstanceOnPodRestart", "RecreateGroupOnPodRestart"),
    ],
)
def test_the_restart_policy_in_the_words_of_a_leader_worker_set(
    workload: str, policy: str, expected: str
) -> None:
    found = msgspec.convert(role("a", restartPolicy=policy, **kind(workload)), Role)
    assert restart_policy(found) == expected


def spec(*roles: object, **rest: object) -> RbgSpec:
    return msgspec.convert({"roles": roles, **rest}, RbgSpec)


def test_fields_without_effect_bring_a_warning_each() -> None:
    rolling = rollout(
        maxSurge=1, type="InPlaceIfPossible", inPlaceUpdateStrategy={"gracePeriodSeconds": 5}
    )
    found = warnings(spec(role("a", **rolling), role("b", **kind("Deployment"), **rolling)))
    path = "spec.roles[{}].rolloutStrategy.rollingUpdate"
    surge, *in_place = found
    assert surge.startswith(f"{path.format(0)}.maxSurge has no effect: a StatefulSet")
    assert [each.partition(" has no effect")[0] for each in in_place] == [
        f"{path.format(index)}.{name}"
        for index in (0, 1)
        for name in ("type", "inPlaceUpdateStrategy")
    ]


def test_less_than_one_replica_brings_a_warning_for_the_small_role_only() -> None:
    rule = {
        "name": "together",
        "roles": ["prefill", "decode"],
        "strategy": {"rollingUpdate": {"maxUnavailable": "10%"}},
    }
    roles = (role("prefill", 20), role("decode", 3), role("router", 1))
    [found] = warnings(spec(*roles, coordination=[rule]))
    assert "10% of the 3 replicas of the role decode is less than one" in found
