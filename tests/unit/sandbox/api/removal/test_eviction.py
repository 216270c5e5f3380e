"""Evictions: the branches that a real cluster is hard to bring into. The rest is the contract's."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
)
from intact.sandbox import MemoryApi, Rule, run
from intact.sandbox.api.failures import Failure
from intact.sandbox.api.objects import Json
from intact.sandbox.api.removal.budgets import decremented
from tests.support.objects import NAMESPACES, PDBS, PODS, pod

NS = "default"


async def make_pod(
    client: Client, name: str = "p", *, phase: str = "Running", ready: bool = True
) -> Json:
    await client.create(PODS, pod(name, node="n", labels={"app": "a"}), NS)
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": phase, "conditions": conditions}
    return await client.patch(PODS, {"status": status}, name, NS, subresource="status")


async def make_budget(client: Client, name: str = "b", **status: Any) -> Json:
    body = {
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }
    await client.create(PDBS, body, NS)
    return await client.patch(
        PDBS, {"status": {"observedGeneration": 1, **status}}, name, NS, subresource="status"
    )


def cause(error: ApiError) -> str:
    assert [each.reason for each in error.causes] == ["DisruptionBudget"]
    return error.causes[0].message


FAILED = {"type": "DisruptionAllowed", "status": "False"}
DENIALS: list[tuple[str, Json, str]] = [
    (
        "too few",
        {"currentHealthy": 1, "desiredHealthy": 1},
        "The disruption budget b needs 1 healthy pods and has 1 currently",
    ),
    (
        "failed sync",
        {"conditions": [{**FAILED, "reason": "SyncFailed", "message": "M"}]},
        "The disruption budget b does not allow evicting pods currently because it failed sync: M",
    ),
    (
        "explained",
        {"currentHealthy": 2, "conditions": [{**FAILED, "reason": "R", "message": "M"}]},
        "The disruption budget b does not allow evicting pods currently (R): M",
    ),
    (
        "unexplained",
        {"currentHealthy": 2},
        "The disruption budget b does not allow evicting pods currently",
    ),
]


@pytest.mark.parametrize(
    ("status", "message"), [case[1:] for case in DENIALS], ids=[case[0] for case in DENIALS]
)
async def test_what_a_spent_budget_says(client: Client, status: Json, message: str) -> None:
    await make_pod(client)
    await make_budget(client, **status)
    with pytest.raises(TooManyRequests) as caught:
        await client.evict(PODS, "p", NS)
    assert cause(caught.value) == message
    assert caught.value.retry_after is None


def budget(**status: Any) -> Json:
    return {"metadata": {"name": "b", "generation": 2}, "status": status}


def test_a_budget_that_was_not_counted_is_asked_for_later() -> None:
    with pytest.raises(Failure) as caught:
        decremented(budget(observedGeneration=1, disruptionsAllowed=5), "p", "now")
    assert (caught.value.code, caught.value.retry_after) == (429, 10)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"disruptionsAllowed": -1}, "pdb disruptions allowed is negative"),
        (
            {"disruptionsAllowed": 1, "disruptedPods": {str(n): "now" for n in range(2001)}},
            "DisruptedPods map too big",
        ),
    ],
    ids=["negative", "too many"],
)
def test_a_budget_in_disorder_is_forbidden(status: Json, message: str) -> None:
    with pytest.raises(Failure, match=message) as caught:
        decremented(budget(observedGeneration=2, **status), "p", "now")
    assert caught.value.code == 403


def test_the_last_disruption_turns_the_condition() -> None:
    conditions = [{"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods"}]
    taken = decremented(
        budget(observedGeneration=2, disruptionsAllowed=1, conditions=conditions), "p", "now"
    )
    assert taken["status"]["disruptionsAllowed"] == 0
    assert taken["status"]["disruptedPods"] == {"p": "now"}
    [condition] = taken["status"]["conditions"]
    assert (condition["status"], condition["reason"], condition["lastTransitionTime"]) == (
        "False",
        "InsufficientPods",
        "now",
    )


async def test_two_budgets_are_too_many(client: Client) -> None:
    await make_pod(client)
    await make_budget(client, "a", disruptionsAllowed=1)
    await make_budget(client, "b", disruptionsAllowed=1)
    with pytest.raises(ServerError, match="more than one PodDisruptionBudget") as caught:
        await client.evict(PODS, "p", NS)
    assert (caught.value.code, caught.value.retry_after) == (500, None)


async def test_the_decrement_is_a_status_write_by_the_api_server(
    api: MemoryApi, client: Client
) -> None:
    asked: list[Json] = []

    async def hook(request: Json) -> Json:
        asked.append(request)
        return {"allowed": True}

    await make_pod(client)
    await make_budget(client, disruptionsAllowed=2)
    api.admit("h", hook, [Rule(("poddisruptionbudgets/status",), ("UPDATE",))])
    await client.evict(PODS, "p", NS)
    [request] = asked
    assert request["userInfo"]["username"] == "system:apiserver"
    assert request["subResource"] == "status"
    assert request["object"]["status"]["disruptionsAllowed"] == 1
    assert list(request["object"]["status"]["disruptedPods"]) == ["p"]
    assert "disruptedPods" not in request["oldObject"]["status"]


async def test_a_denial_of_the_decrement_reaches_the_evictor(
    api: MemoryApi, client: Client
) -> None:
    async def deny(_request: Json) -> Json:
        causes = [{"reason": "DisruptionBudget", "message": "not this one"}]
        status = {
            "code": 429,
            "reason": "TooManyRequests",
            "message": "wait",
            "details": {"causes": causes},
        }
        return {"allowed": False, "status": status}

    await make_pod(client)
    await make_budget(client, disruptionsAllowed=2)
    api.admit("h", deny, [Rule(("poddisruptionbudgets/status",), ("UPDATE",))])
    with pytest.raises(TooManyRequests, match="wait") as caught:
        await client.evict(PODS, "p", NS)
    assert cause(caught.value) == "not this one"
    assert "deletionTimestamp" not in (await client.get(PODS, "p", NS))["metadata"]


def test_competing_evictions_never_overspend() -> None:
    async def main() -> tuple[int, int]:
        api = MemoryApi()
        client = Client(api)
        for number in range(6):
            await make_pod(client, f"p{number}")
        await make_budget(client, disruptionsAllowed=2, currentHealthy=6, desiredHealthy=4)

        async def evict(name: str) -> bool:
            try:
                await client.evict(PODS, name, NS)
            except TooManyRequests:
                return False
            return True

        done = await asyncio.gather(*(evict(f"p{number}") for number in range(6)))
        gone = [p for p in api.objects("pods", NS) if "deletionTimestamp" in p["metadata"]]
        return sum(done), len(gone)

    assert {run(main(), seed=seed) for seed in range(25)} == {(2, 2)}


@pytest.mark.parametrize("where", ["query", "body"])
async def test_a_dry_run_changes_nothing(api: MemoryApi, client: Client, where: str) -> None:
    await make_pod(client)
    await make_budget(client, disruptionsAllowed=1)
    before = api.revision
    options = {"dryRun": ["All"]} if where == "body" else {}
    body = {"metadata": {"name": "p"}, "deleteOptions": options}
    answer = await client.create_subresource(
        PODS, "p", NS, "eviction", body, dry_run=where == "query"
    )
    assert (answer["status"], api.revision) == ("Success", before)


async def test_a_dry_run_of_a_spent_budget_is_denied(client: Client) -> None:
    await make_pod(client)
    await make_budget(client)
    with pytest.raises(TooManyRequests):
        await client.evict(PODS, "p", NS, dry_run=True)


@pytest.mark.parametrize(
    ("policy", "healthy", "desired", "free"),
    [
        ("AlwaysAllow", 0, 1, True),
        ("IfHealthyBudget", 1, 1, True),
        ("IfHealthyBudget", 0, 1, False),
        ("IfHealthyBudget", 0, 0, False),
        (None, 1, 1, True),
        (None, 0, 1, False),
    ],
)
async def test_what_a_pod_that_is_not_ready_costs(
    client: Client, policy: str | None, healthy: int, desired: int, free: bool
) -> None:
    await make_pod(client, ready=False)
    await make_budget(client, currentHealthy=healthy, desiredHealthy=desired)
    if policy is not None:
        patch = {"spec": {"unhealthyPodEvictionPolicy": policy}}
        await client.patch(PDBS, patch, "b", NS)
        await client.patch(
            PDBS, {"status": {"observedGeneration": 2}}, "b", NS, subresource="status"
        )
    if not free:
        with pytest.raises(TooManyRequests):
            await client.evict(PODS, "p", NS)
        return
    await client.evict(PODS, "p", NS)
    assert "disruptedPods" not in (await client.get(PDBS, "b", NS))["status"]


@pytest.mark.parametrize(("phase", "stays"), [("Pending", True), ("Succeeded", False)])
async def test_pods_that_do_not_run_cost_nothing(client: Client, phase: str, stays: bool) -> None:
    await make_pod(client, phase=phase)
    await make_budget(client)
    await client.evict(PODS, "p", NS)
    if stays:
        assert "deletionTimestamp" in (await client.get(PODS, "p", NS))["metadata"]
    else:
        with pytest.raises(NotFound):
            await client.get(PODS, "p", NS)


async def test_a_second_eviction_of_a_pod_that_terminates_is_free(client: Client) -> None:
    await make_pod(client)
    await make_budget(client, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    await client.evict(PODS, "p", NS)
    await client.evict(PODS, "p", NS)
    status = (await client.get(PDBS, "b", NS))["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])


async def test_a_wrong_uid_burns_a_disruption(client: Client) -> None:
    """As kube-apiserver does: preconditions are looked at only when the pod is deleted."""
    await make_pod(client)
    await make_budget(client, disruptionsAllowed=2)
    with pytest.raises(Conflict, match="the UID in the precondition"):
        await client.evict(PODS, "p", NS, uid="00000000-0000-4000-8000-000000000000")
    assert (await client.get(PDBS, "b", NS))["status"]["disruptionsAllowed"] == 1


async def test_into_a_terminating_namespace_nothing_is_evicted(
    api: MemoryApi, client: Client
) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "x"}})
    await client.create(PODS, pod("p", node="n"), "x")
    await client.delete(NAMESPACES, "x")
    with pytest.raises(Forbidden) as caught:
        await client.evict(PODS, "p", "x")
    assert caught.value.has_cause("NamespaceTerminating")
    await api.finish_pod("x", "p")
    with pytest.raises(NotFound):
        await client.get(NAMESPACES, "x")
