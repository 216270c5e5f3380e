"""Fields that the server does not know: those of KEP-5682, on a server without it."""

import pytest

from intact.kube.client import PatchType, encode
from intact.kube.errors import ApiError, BadRequest
from intact.kube.transport import JSON, Request
from tests.contract.backends import Backend
from tests.support.objects import PDBS, Json

SPEC = 'unknown field "spec.budgetScope"'
STATUS = 'unknown field "status.expectedReplicas"'


def budget(**spec: object) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, **spec},
    }


async def send(
    backend: Backend,
    body: Json,
    *,
    name: str = "",
    subresource: str = "",
    type: str = JSON,  # noqa: A002 - as the client's own
    **query: str,
) -> None:
    path = PDBS.path(backend.namespace, name, subresource)
    method = "PATCH" if name else "POST"
    await backend.client._once(Request(method, path, query, encode(body), type))


async def test_an_unknown_field_is_dropped_with_a_warning(backend: Backend) -> None:
    made = await backend.client.create(PDBS, budget(budgetScope="Workload"), backend.namespace)
    assert "budgetScope" not in made["spec"]
    assert backend.warnings == [SPEC]
    patch = {"spec": {"budgetScope": "Pod", "minAvailable": 2}}
    patched = await backend.client.patch(PDBS, patch, "b", backend.namespace)
    assert patched["spec"]["minAvailable"] == 2
    assert "budgetScope" not in patched["spec"]
    assert backend.warnings == [SPEC, SPEC]


async def test_an_unknown_field_of_the_status_is_dropped(backend: Backend) -> None:
    await backend.client.create(PDBS, budget(), backend.namespace)
    patched = await backend.client.patch(
        PDBS,
        {"status": {"expectedReplicas": 3}},
        "b",
        backend.namespace,
        subresource="status",
        dry_run=True,
    )
    assert "expectedReplicas" not in patched["status"]
    assert backend.warnings == [STATUS]


async def test_unknown_fields_are_ignored_or_refused_where_the_request_asks_for_it(
    backend: Backend,
) -> None:
    refused = (
        'PodDisruptionBudget in version "v1" cannot be handled as a PodDisruptionBudget: '
        f"strict decoding error: {SPEC}"
    )
    with pytest.raises(BadRequest) as strict:
        await send(backend, budget(budgetScope="Workload"), fieldValidation="Strict")
    assert str(strict.value) == refused
    await send(backend, budget(budgetScope="Workload"), fieldValidation="Ignore")
    patch = {"spec": {"budgetScope": "Workload"}}
    with pytest.raises(ApiError) as patched:
        await send(backend, patch, name="b", type=PatchType.MERGE, fieldValidation="Strict")
    assert patched.value.code == 422
    assert str(patched.value).startswith(' "" is invalid: patch: Invalid value: ')
    assert str(patched.value).endswith(f": strict decoding error: {SPEC}")
    assert backend.warnings == []


async def test_an_unknown_field_cannot_be_applied(backend: Backend) -> None:
    with pytest.raises(ApiError) as refused:
        await backend.client.patch(
            PDBS, budget(budgetScope="Workload"), "b", backend.namespace, type=PatchType.APPLY
        )
    assert refused.value.code == 500
    assert str(refused.value) == (
        "failed to create typed patch object (/b; policy/v1, Kind=PodDisruptionBudget): "
        ".spec.budgetScope: field not declared in schema"
    )
