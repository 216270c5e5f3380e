"""A role whose workload becomes one of another kind: the one comes up as the other goes down."""

import asyncio
from collections.abc import Iterator

import pytest

from intact.model.rbg import RoleBasedGroup
from tests.support.leader_worker_sets import install_sets, remove_sets, simulated_sets
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import PDBS
from tests.support.rbg_objects import Json, group, kind, role, rolling
from tests.support.rbg_rollout import check_bounds, course, intact, revision
from tests.support.rbg_waiting import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GROUPS,
    ROLE,
    SERVICES,
    SETS,
    STATEFUL_SETS,
    change,
    completed,
    group_settled,
    group_until,
    names_of,
    role_pods,
    settled,
)


@pytest.fixture(autouse=True)
def no_sets_left(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    yield
    runner.run(remove_sets(ns.client))


def becomes(name: str, at: int = 0) -> list[Json]:
    return [{"op": "add", "path": f"/spec/roles/{at}/workload", "value": kind(name)["workload"]}]


SIZES = {"prefill": 4, "decode": 4}
KINDS = {"StatefulSet": STATEFUL_SETS, "Deployment": DEPLOYMENTS, "LeaderWorkerSet": SETS}


@pytest.mark.parametrize(
    ("first", "second", "coordinated"),
    [
        ("StatefulSet", "Deployment", True),
        ("StatefulSet", "Deployment", False),
        ("StatefulSet", "LeaderWorkerSet", True),
        ("LeaderWorkerSet", "Deployment", False),
    ],
)
async def test_a_role_changes_its_kind_within_its_limits_and_back(
    ns: NamespaceUnderTest, first: str, second: str, coordinated: bool
) -> None:
    body = group("llm", role("prefill", 4, **kind(first)), role("decode", 4))
    unavailable = 25
    if coordinated:
        body["spec"]["coordination"] = [
            rolling(*SIZES, maxSkew="25%", maxUnavailableRatio=f"{unavailable}%")
        ]
    await install_sets(ns.client)
    async with simulated_sets(ns.client, ns.name):
        await ns.create(GROUPS, body)
        await group_settled(ns)
        old = await revisions(ns)
        others = {one["metadata"]["uid"] for one in await role_pods(ns, "decode")}
        async with ns.watched() as watched:
            await change(ns, becomes(second))
            await moved(ns, first, second, coordinated)
        check_bounds(course(watched, SIZES, old), skew=100, unavailable=unavailable)
        now = await revisions(ns)
        now["prefill"] -= old["prefill"]  # the last of them may still terminate
        code, said = await intact(ns, "rbg", "undo", "llm")
        assert code == 0, said
        async with ns.watched() as watched:
            await moved(ns, second, first, coordinated)
        check_bounds(course(watched, SIZES, now), skew=100, unavailable=unavailable)
        await eventually(lambda: revisions(ns), lambda found: found == old, f"{old} only")
        assert {one["metadata"]["uid"] for one in await role_pods(ns, "decode")} == others


async def revisions(ns: NamespaceUnderTest) -> dict[str, set[str]]:
    return {name: {revision(pod, name) for pod in await role_pods(ns, name)} for name in SIZES}


def is_over(group: RoleBasedGroup) -> bool:
    return settled(group) and group.status.updated == "8/8"


async def moved(ns: NamespaceUnderTest, old: str, new: str, coordinated: bool) -> None:
    """Until nothing of the old kind is left."""

    async def left() -> list[str]:
        return [one for one in await names_of(ns, KINDS[old]) if "-prefill" in one]

    await group_until(ns, "llm", completed if coordinated else is_over, "the role to have moved")
    await eventually(left, lambda names: not names, f"no {old} to be left")
    await group_until(ns, "llm", is_over, "the group to be at rest")
    [name] = [one for one in await names_of(ns, KINDS[new]) if "-prefill" in one]
    needs_another = {old, new} == {"StatefulSet", "LeaderWorkerSet"} and new != "StatefulSet"
    assert name.startswith("llm-prefill-") if needs_another else name == "llm-prefill"
    services = await names_of(ns, SERVICES)
    assert ("s-llm-prefill" in services) == (new != "LeaderWorkerSet")


async def test_the_partition_holds_a_change_of_kind_and_undo_brings_it_back(
    ns: NamespaceUnderTest,
) -> None:
    rules = rolling(*SIZES, maxUnavailableRatio="25%", partition="50%")
    await ns.create(
        GROUPS, group("llm", role("prefill", 4), role("decode", 4), coordination=[rules])
    )
    await group_settled(ns)
    old = await revisions(ns)
    async with ns.watched() as watched:
        await change(ns, becomes("Deployment"))
        await group_until(ns, "llm", lambda one: one.status.coordinating == "Paused", "a rest")
        for resource in (STATEFUL_SETS, DEPLOYMENTS):
            found = await ns.client.get(resource, "llm-prefill", ns.name)
            assert found["spec"]["replicas"] == 2, resource.kind
        config = await ns.client.get(CONFIG_MAPS, "llm", ns.name)
        assert "llm-prefill-1.s-llm-prefill" in config["data"]["config.yaml"]
        code, said = await intact(ns, "rbg", "undo", "llm")
        assert code == 0, said
        await moved(ns, "Deployment", "StatefulSet", True)
    check_bounds(course(watched, SIZES, old), skew=100, unavailable=25)
    await eventually(lambda: revisions(ns), lambda found: found == old, f"{old} only")


@pytest.mark.parametrize("first", ["StatefulSet", "Deployment"])
async def test_a_budget_holds_a_change_of_kind(ns: NamespaceUnderTest, first: str) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 4, **kind(first)), role("decode", 4)))
    await group_settled(ns)
    pods = {one["metadata"]["uid"] for one in await role_pods(ns, "prefill")}
    selector = {"matchLabels": {ROLE: "prefill"}}
    spec = {"selector": selector, "maxUnavailable": 0}
    await ns.create(PDBS, {"metadata": {"name": "hold"}, "spec": spec})
    await eventually(
        lambda: ns.client.get(PDBS, "hold", ns.name),
        lambda found: found.get("status", {}).get("currentHealthy") == 4,
        "the budget to be counted",
    )
    second = "Deployment" if first == "StatefulSet" else "StatefulSet"
    await change(ns, becomes(second))
    [event, *_] = await ns.events("RoleBasedGroup", "llm", "ChangeOfKindRefused")
    assert "disruption budget" in event["message"]
    assert {one["metadata"]["uid"] for one in await role_pods(ns, "prefill")} == pods
    await ns.client.delete(PDBS, "hold", ns.name)
    await moved(ns, first, second, False)
