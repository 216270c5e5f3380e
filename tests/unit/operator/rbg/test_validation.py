"""The admission of RoleBasedGroups."""

from typing import Any

import msgspec

from intact.kube.client import Client
from intact.model.admission import AdmissionResponse
from intact.operator.rbg.validation import RbgValidation
from intact.sandbox import MemoryApi
from tests.support.objects import NAMESPACES
from tests.support.rbg_objects import Json, group, kind, role, template
from tests.support.rbg_upstream import PATCHED, rollout
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
    client = Client(MemoryApi())
    await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
    return await RbgValidation(client).review(msgspec.Raw(msgspec.json.encode(body)))


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
    assert answer.audit_annotations == {"decision": "denied", "reason": "Invalid"}


@simulated
async def test_an_update_is_not_refused_for_an_error_that_was_there_before() -> None:
    scaled = group("llm", WRONG | {"replicas": 3})
    assert (await asked(scaled, group("llm", WRONG))).allowed


@simulated
async def test_a_patch_that_does_not_fit_its_template_is_refused() -> None:
    answer = await asked(PATCHED.body)
    assert answer.status is not None
    assert "spec.roles[0].templatePatch" in answer.status.message
    assert (await asked(PATCHED.body, PATCHED.body)).allowed, "it was there before"


@simulated
async def test_a_warning_is_given_once() -> None:
    body = group("llm", role("prefill", **rollout(maxSurge=1)))
    answer = await asked(body)
    assert answer.allowed
    assert any("maxSurge has no effect" in each for each in answer.warnings)
    scaled = group("llm", role("prefill", 5, **rollout(maxSurge=1)))
    assert (await asked(scaled, body)).warnings == []


@simulated
async def test_a_kind_that_is_not_served_is_a_warning() -> None:
    answer = await asked(group("llm", role("decode", **kind("LeaderWorkerSet"))))
    assert answer.allowed
    [warning] = answer.warnings
    assert "LeaderWorkerSet of this role" in warning


@simulated
async def test_an_invalid_one_can_be_edited_without_a_dry_run() -> None:
    """Nothing can be made of it."""
    bad = role("prefill") | {"template": {"spec": {"containers": ["none"]}}}
    other = bad | {"template": {"spec": {"containers": ["none"], "x": 1}}}
    assert (await asked(group("llm", other), group("llm", bad))).allowed
    good = role("prefill") | {"template": template()}
    assert (await asked(group("llm", good), group("llm", bad))).allowed
