"""The Eviction API, with and without a PodDisruptionBudget."""

import pytest

from intact.kube.errors import (
    ApiError,
    BadRequest,
    Conflict,
    MethodNotAllowed,
    NotFound,
    TooManyRequests,
)
from tests.contract.backends import Backend
from tests.support.objects import PDBS, PODS, Json, pod


async def running(backend: Backend, name: str, *, ready: bool = True) -> Json:
    await backend.client.create(
        PODS, pod(name, node=backend.node, labels={"app": "a"}), backend.namespace
    )
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return await backend.client.patch(
        PODS,
        {"status": {"phase": "Running", "conditions": conditions}},
        name,
        backend.namespace,
        subresource="status",
    )


async def budget(backend: Backend, name: str, allowed: int, **spec: object) -> None:
    """A budget that has been counted, with so many disruptions left."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, **spec},
    }
    await backend.client.create(PDBS, body, backend.namespace)
    await backend.budget_counted(name, allowed)


async def test_a_pod_without_a_budget_is_evicted(backend: Backend) -> None:
    await running(backend, "p")
    await backend.client.evict(PODS, "p", backend.namespace)
    found = await backend.client.get(PODS, "p", backend.namespace)
    assert found["metadata"]["deletionTimestamp"]
    [condition] = [c for c in found["status"]["conditions"] if c["type"] == "DisruptionTarget"]
    assert (condition["status"], condition["reason"]) == ("True", "EvictionByEvictionAPI")


async def test_the_grace_and_preconditions_of_an_eviction_are_those_of_the_request(
    backend: Backend,
) -> None:
    made = await running(backend, "p")
    with pytest.raises(Conflict):
        await backend.client.evict(
            PODS, "p", backend.namespace, uid="11111111-2222-3333-4444-555555555555"
        )
    await backend.client.evict(
        PODS, "p", backend.namespace, uid=made["metadata"]["uid"], grace_period_seconds=7
    )
    found = await backend.client.get(PODS, "p", backend.namespace)
    assert found["metadata"]["deletionGracePeriodSeconds"] == 7


async def test_the_eviction_of_an_unknown_pod_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound, match='pods "p" not found'):
        await backend.client.evict(PODS, "p", backend.namespace)


async def test_an_eviction_with_another_name_in_the_body_is_refused(backend: Backend) -> None:
    await running(backend, "p")
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "q"}}
    with pytest.raises(BadRequest, match="name in URL does not match name in Eviction object"):
        await backend.client.create_subresource(PODS, "p", backend.namespace, "eviction", body)


async def test_an_eviction_cannot_be_read(backend: Backend) -> None:
    await running(backend, "p")
    with pytest.raises(MethodNotAllowed):
        await backend.client.get(PODS, "p", backend.namespace, subresource="eviction")


async def test_a_spent_budget_denies_an_eviction(backend: Backend) -> None:
    await running(backend, "p")
    await budget(backend, "b", allowed=0, minAvailable=1)
    with pytest.raises(TooManyRequests) as caught:
        await backend.client.evict(PODS, "p", backend.namespace)
    error = caught.value
    assert str(error) == "Cannot evict pod as it would violate the pod's disruption budget."
    assert error.retry_after is None
    assert [(cause.reason, cause.message) for cause in error.causes] == [
        ("DisruptionBudget", "The disruption budget b needs 1 healthy pods and has 1 currently")
    ]


async def test_an_eviction_spends_an_open_budget(backend: Backend) -> None:
    await running(backend, "p")
    await running(backend, "q")
    await budget(backend, "b", allowed=1, minAvailable=1)
    await backend.client.evict(PODS, "p", backend.namespace)
    with pytest.raises(TooManyRequests):
        await backend.client.evict(PODS, "q", backend.namespace)
    assert (await backend.client.get(PDBS, "b", backend.namespace))["status"][
        "disruptionsAllowed"
    ] == 0


async def test_a_dry_run_of_an_eviction_asks_the_budget_and_spends_nothing(
    backend: Backend,
) -> None:
    await running(backend, "p")
    await running(backend, "q")
    await budget(backend, "b", allowed=1, minAvailable=1)
    for name in ("p", "q"):
        await backend.client.evict(PODS, name, backend.namespace, dry_run=True)
    found = await backend.client.get(PDBS, "b", backend.namespace)
    assert found["status"]["disruptionsAllowed"] == 1


async def test_a_pod_that_is_not_ready_costs_nothing_while_the_budget_is_kept(
    backend: Backend,
) -> None:
    await running(backend, "p")
    await running(backend, "q", ready=False)
    await budget(backend, "b", allowed=0, minAvailable=1)
    await backend.client.evict(PODS, "q", backend.namespace)
    assert (await backend.client.get(PODS, "q", backend.namespace))["metadata"]["deletionTimestamp"]


async def test_two_budgets_on_a_pod_are_an_error_of_the_server(backend: Backend) -> None:
    await running(backend, "p")
    for name in ("a", "b"):
        await budget(backend, name, allowed=0, minAvailable=1)
    with pytest.raises(ApiError) as caught:
        await backend.client.evict(PODS, "p", backend.namespace)
    assert caught.value.code == 500
    assert "more than one PodDisruptionBudget" in str(caught.value)
