"""The admission of RoleBasedGroups."""

from typing import Any

import msgspec

from intact.model.admission import AdmissionResponse
from intact.operator.rbg.validation import review
from tests.support.rbg_objects import Json, group, role
from tests.unit.kube.simulated import simulated


async def asked(new: Json, old: Json | None = None) -> AdmissionResponse:
    body: dict[str, Any] = {
        "uid": "1",
        "kind": {"group": "workloads.x-k8s.io", "version": "v1alpha1", "kind": "RoleBasedGroup"},
        "name": "llm",
        "namespace": "ns",
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "alice"},
        "object": new,
        "oldObject": old,
    }
    return await review(msgspec.Raw(msgspec.json.encode(body)))


WRONG = role("decode", dependencies=["encode"])


@simulated
async def test_a_valid_one_is_allowed() -> None:
    assert (await asked(group("llm", role("prefill")))).allowed


@simulated
async def test_an_invalid_one_is_refused_with_its_fields() -> None:
    answer = await asked(group("llm", WRONG))
    assert not answer.allowed
    assert answer.status is not None
    assert answer.status.code == 422
    assert "spec.roles[0].dependencies[0]" in answer.status.message


@simulated
async def test_an_update_is_not_refused_for_an_error_that_was_there_before() -> None:
    scaled = group("llm", WRONG | {"replicas": 3})
    assert (await asked(scaled, group("llm", WRONG))).allowed
