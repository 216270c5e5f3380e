"""What belongs to a role, whatever its labels say: nothing of a role that exists is deleted."""

import operator
from functools import partial

import pytest

from intact.kube.resources import Resource
from intact.rollout.names import role_revision_label
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import Json
from tests.support.rbg_objects import group, kind, role, rolling, template
from tests.support.rbg_waiting import (
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    ROLE,
    SERVICES,
    STATEFUL_SETS,
    change,
    completed,
    group_settled,
    group_until,
    role_pods,
)

WORKLOADS = ((STATEFUL_SETS, "llm-prefill"), (DEPLOYMENTS, "llm-router"))
VALUES = ("decode", "router", "prefill", "evil", "", None)
"""Of roles that exist, of one that does not, and none."""


async def uids(ns: NamespaceUnderTest) -> set[str]:
    found = [await ns.client.get(resource, name, ns.name) for resource, name in WORKLOADS]
    found += await role_pods(ns, "prefill") + await role_pods(ns, "router")
    return {one["metadata"]["uid"] for one in found}


async def labels_of(ns: NamespaceUnderTest, resource: Resource[Json], name: str) -> Json:
    found: Json = (await ns.client.get(resource, name, ns.name))["metadata"]["labels"]
    return found


@pytest.mark.parametrize("coordinated", [False, True])
async def test_overwritten_labels_are_put_back_and_nothing_is_deleted(
    ns: NamespaceUnderTest, coordinated: bool
) -> None:
    rules = [rolling("prefill", "router")] if coordinated else []
    roles = role("prefill", 2), role("decode", 1), role("router", 2, **kind("Deployment"))
    await ns.create(GROUPS, group("llm", *roles, coordination=rules))
    await group_settled(ns)
    before = await uids(ns)
    for resource, name in WORKLOADS:
        as_it_was = await labels_of(ns, resource, name)
        own = role_revision_label(name.removeprefix("llm-"))
        for label in (ROLE, GROUP, own):
            for value in VALUES:
                body = {"metadata": {"labels": {label: value}}}
                await ns.client.patch(resource, body, name, ns.name)
                what = f"{label}={value} of {name} to be put back"
                await eventually(
                    partial(labels_of, ns, resource, name), partial(operator.eq, as_it_was), what
                )
    assert await uids(ns) == before
    await group_settled(ns)
    assert await uids(ns) == before


async def test_a_service_with_other_labels_is_put_back(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 1), role("decode", 1)))
    await group_settled(ns)

    async def service() -> Json:
        found: Json = (await ns.client.get(SERVICES, "s-llm-prefill", ns.name))["metadata"]
        return found

    was = await service()
    for value in VALUES:
        body = {"metadata": {"labels": {ROLE: value, GROUP: value}}}
        await ns.client.patch(SERVICES, body, "s-llm-prefill", ns.name)
        await eventually(
            service, lambda found: found["labels"] == was["labels"], f"{value} to be put back"
        )
    assert (await service())["uid"] == was["uid"]


async def test_a_deployment_that_loses_its_labels_in_mid_rollout_is_found_again(
    ns: NamespaceUnderTest,
) -> None:
    """It has a name of its own then, which only its pods tell of."""
    rules = rolling("router", "decode", maxUnavailableRatio="50%", partition="50%")
    roles = role("router", 4, **kind("Deployment")), role("decode", 2)
    await ns.create(GROUPS, group("llm", *roles, coordination=[rules]))
    await group_settled(ns)
    both = [
        {"op": "replace", "path": f"/spec/roles/{at}/template", "value": template("engine:2")}
        for at in range(2)
    ]
    await change(ns, both)
    await group_until(ns, "llm", lambda one: one.status.coordinating == "Paused", "the partition")
    made = (await ns.client.list(DEPLOYMENTS, ns.name)).items
    assert len(made) == 2
    pods = {one["metadata"]["uid"] for one in await role_pods(ns, "router")}
    for one in made:
        name = one["metadata"]["name"]
        await ns.client.patch(
            DEPLOYMENTS, {"metadata": {"labels": {GROUP: None, ROLE: "evil"}}}, name, ns.name
        )

    async def labels() -> list[tuple[str, str]]:
        found = (await ns.client.list(DEPLOYMENTS, ns.name)).items
        return [
            (one["metadata"]["labels"].get(GROUP), one["metadata"]["labels"].get(ROLE))
            for one in found
        ]

    await eventually(labels, lambda found: found == [("llm", "router")] * 2, "both to be repaired")
    assert {one["metadata"]["uid"] for one in await role_pods(ns, "router")} == pods
    await change(ns, [{"op": "remove", "path": "/spec/coordination/0/strategy/partition"}])
    await group_until(ns, "llm", completed, "the rollout to go on")
    assert len((await ns.client.list(DEPLOYMENTS, ns.name)).items) == 1
