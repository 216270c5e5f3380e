"""What a RoleBasedGroup deletes of what it owns, and what it leaves."""

import random
from dataclasses import replace
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.kube.resources import RBGS, Resource
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import RoleWorkload
from intact.operator.rbg.apply import Applied
from intact.operator.rbg.cleanup import RbgCleanup
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.stores import RbgStores
from intact.rollout.facts import RoleFacts, workload_facts
from intact.rollout.names import ROLE, role_revision_label
from intact.rollout.orders import WorkloadOrder
from intact.sandbox import Kind, MemoryApi, wall_clock
from tests.support.objects import NAMESPACES, PODS, Json
from tests.support.rbg_objects import group, kind, role, rolling, template
from tests.support.rbg_waiting import (
    ADAPTERS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    SERVICES,
    STATEFUL_SETS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import OWNED, Scene, grouping, play_all, replaced, two_roles


@simulated
async def test_a_renamed_role_leaves_nothing_behind() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        await scene.change(replaced("/spec/roles/0/name", "encode"))
        assert scene.names(STATEFUL_SETS) == ["llm-encode"]
        assert scene.names(SERVICES) == ["s-llm-encode", "s-llm-router"]
        assert scene.names(ADAPTERS) == ["llm-encode", "llm-router"]
        assert [one.name for one in scene.status.role_statuses] == ["encode", "router"]
        assert "deleted StatefulSet llm-prefill: no role needs it any more" in await scene.events(
            "Removed"
        )


@simulated
async def test_a_role_of_another_kind_leaves_nothing_of_the_first() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.change(replaced("/spec/roles/0/workload", kind("Deployment")["workload"]))
        await scene.play(DEPLOYMENTS)
        for _ in range(3):
            for live in scene._all(STATEFUL_SETS):
                seen = {"observedGeneration": live["metadata"]["generation"], "replicas": 0}
                name = live["metadata"]["name"]
                await scene.client.patch(
                    STATEFUL_SETS, {"status": seen}, name, NS, subresource="status"
                )
            await scene.settle()
        assert scene.names(STATEFUL_SETS) == []
        assert scene.names(DEPLOYMENTS) == ["llm-prefill", "llm-router"]
        assert scene.names(SERVICES) == ["s-llm-prefill", "s-llm-router"]


@simulated
async def test_what_belongs_to_others_is_not_removed() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        mine: Json = {
            "metadata": {"name": "llm-mine", "labels": {GROUP: "llm"}},
            "spec": {"replicas": 0},
        }
        await scene.client.create(STATEFUL_SETS, mine, NS)
        await scene.look_again()
        assert scene.names(STATEFUL_SETS) == ["llm-mine", "llm-prefill"]


@simulated
async def test_a_deployment_of_a_former_rollout_stays_until_the_other_one_was_observed() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxSkew="100%", maxUnavailableRatio="50%")
        prefill = role("prefill", 2, **kind("Deployment"))
        await scene.make(group("llm", prefill, role("decode", 1), coordination=[rules]))
        await play_all(scene)
        await scene.change(replaced("/spec/roles/0/template", template("engine:2")))
        await scene.play(DEPLOYMENTS)
        both = scene.names(DEPLOYMENTS)
        assert len(both) == 2
        # One pod of the new revision is ready: as many as the role should have from now on.
        await scene.change(
            {"op": "remove", "path": "/spec/coordination"}, replaced("/spec/roles/0/replicas", 1)
        )
        assert scene.status.role_statuses[0].updated_ready_replicas == 1
        assert scene.names(DEPLOYMENTS) == both, "the other one is about to roll by itself"
        await scene.client.delete(PODS, "llm-prefill-0", NS)  # it rolls
        await scene.play(DEPLOYMENTS)
        assert scene.names(DEPLOYMENTS) == ["llm-prefill"]


EDITS: dict[Resource[Any], Json] = {
    GROUPS: {"spec": {"paused": True}},
    DEPLOYMENTS: {"metadata": {"ownerReferences": []}},
}


async def left_over(kept_is_there: bool, *edits: Resource[Any]) -> list[str]:
    """The Deployments that stay of a role whose facts say that the kept one serves; `edits` are
    not in the stores yet."""
    api = MemoryApi(clock=wall_clock())
    client = Client(api)
    await client.create(NAMESPACES, {"metadata": {"name": NS}})
    api.register(Kind(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind, status=True))
    body = group("llm", role("prefill", 0, **kind("Deployment")))
    whole = msgspec.convert(await client.create(GROUPS, body, NS), RoleBasedGroup)
    uid = whole.metadata.uid
    owner = {"apiVersion": RBGS.api_version, "kind": RBGS.kind, "name": "llm", "uid": uid}
    stores = RbgStores(client, random.Random(1))
    made = []
    for name in ("llm-prefill", "llm-prefill-old"):
        meta = {
            "name": name,
            "labels": {GROUP: "llm", ROLE: "prefill"},
            "ownerReferences": [owner | {"controller": True}],
        }
        body = {"metadata": meta, "spec": {"replicas": 0}}
        found = msgspec.convert(await client.create(DEPLOYMENTS, body, NS), RoleWorkload)
        made.append(found)
        if kept_is_there or name == "llm-prefill-old":
            stores.workloads["Deployment"].store.put(found)
    for edit in edits:
        await client.patch(
            edit, EDITS[edit], "llm-prefill-old" if edit is DEPLOYMENTS else "llm", NS
        )
    wanted = whole.spec.roles[0]
    workloads = [replace(workload_facts(wanted, one), observed=True) for one in made]
    facts = RoleFacts(role=wanted, desired=0, revision="a", workloads=workloads)
    orders = {"prefill": [WorkloadOrder("llm-prefill", wanted, "a", 0)]}
    cleanup = RbgCleanup(client, stores, RbgEvents(EventRecorder(client, "intact", "me")))
    await cleanup.clean_up(whole, Applied({"prefill": facts}, {}), orders, ())
    return sorted(one["metadata"]["name"] for one in api.objects(DEPLOYMENTS.full_name, NS))


@simulated
async def test_a_deployment_stays_if_the_one_that_should_serve_has_gone_meanwhile() -> None:
    assert await left_over(kept_is_there=True) == ["llm-prefill"]
    assert await left_over(kept_is_there=False) == ["llm-prefill", "llm-prefill-old"]


@simulated
async def test_nothing_is_deleted_that_the_api_server_knows_otherwise() -> None:
    """Another spec of the RoleBasedGroup, or another owner of the Deployment."""
    for edit in EDITS:
        assert await left_over(True, edit) == ["llm-prefill", "llm-prefill-old"]


@simulated
async def test_a_label_is_no_reason_to_delete() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        before = {name: one for name, one in uids(scene).items() if name[0] != "ConfigMap"}
        for value in ("router", "evil", "", None):
            for resource, name in ((STATEFUL_SETS, "llm-prefill"), (DEPLOYMENTS, "llm-router")):
                labels = {ROLE: value, role_revision_label(name[4:]): value}
                await scene.patch(resource, name, {"metadata": {"labels": labels}})
                await scene.settle()
                found = scene.get(resource, name)["metadata"]["labels"]
                assert found[ROLE] == name.removeprefix("llm-")
        assert uids(scene).items() >= before.items()
        assert await scene.events("Removed") == []


def uids(scene: Scene) -> dict[tuple[str, str], str]:
    return {
        (resource.kind, name): scene.get(resource, name)["metadata"]["uid"]
        for resource in OWNED
        for name in scene.names(resource)
    }
