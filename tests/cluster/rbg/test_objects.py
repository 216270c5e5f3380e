"""What a RoleBasedGroup owns on a real cluster: created, repaired and removed."""

import asyncio

import msgspec
import pytest

from intact.kube.client import PatchType
from intact.kube.errors import NotFound
from intact.kube.resources import RBGS, untyped
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import UNREADY, NamespaceUnderTest, eventually
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import group, kind, role, template
from tests.support.rbg_waiting import (
    ADAPTERS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    REVISION,
    REVISIONS,
    SERVICES,
    STATEFUL_SETS,
    change,
    condition_of,
    group_settled,
    group_until,
    names_of,
    role_pods,
)

QUOTAS = untyped("", "v1", "resourcequotas", "ResourceQuota")


async def test_a_group_becomes_workloads_services_and_addresses(ns: NamespaceUnderTest) -> None:
    ports = [{"name": "grpc-in", "port": 9000}]
    body = group(
        "llm",
        role("prefill", 2, servicePorts=ports, labels={"tier": "gold"}),
        role("router", 1, **kind("Deployment")),
    )
    await ns.create(GROUPS, body)
    found = await group_settled(ns)
    assert (found.status.ready, found.status.updated) == ("3/3", "3/3")
    assert condition_of(found, "Ready") == ("True", "AllRolesReady")
    assert condition_of(found, "Progressing") == ("False", "Completed")
    assert condition_of(found, "Stalled")[0] == "False"
    assert found.status.current_revision == found.status.update_revision != ""

    sets = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
    assert sets["metadata"]["labels"]["tier"] == "gold"
    assert sets["metadata"]["ownerReferences"][0]["uid"] == found.metadata.uid
    assert sets["spec"]["podManagementPolicy"] == "Parallel"
    assert sets["spec"]["serviceName"] == "s-llm-prefill"
    service = await ns.client.get(SERVICES, "s-llm-prefill", ns.name)
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True

    [pod, _] = sorted(await role_pods(ns, "prefill"), key=lambda one: one["metadata"]["name"])
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    [container] = pod["spec"]["containers"]
    env = {one["name"]: one for one in container["env"]}
    assert env["GROUP_NAME"]["value"] == env["RBG_GROUP_NAME"]["value"] == "llm"
    assert env["ROLE_NAME"]["value"] == "prefill"
    assert "pod-index" in env["ROLE_INDEX"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert any(one["mountPath"] == "/etc/rbg" for one in container["volumeMounts"])
    config = await ns.client.get(CONFIG_MAPS, "llm", ns.name)
    read = msgspec.yaml.decode(config["data"]["config.yaml"])
    assert read["group"] == {"name": "llm", "size": 2, "roles": ["prefill", "router"]}
    assert read["roles"]["prefill"]["instances"][1] == {
        "address": "llm-prefill-1.s-llm-prefill",
        "ports": {"grpc_in": 9000},
    }
    code, said = await ns.kubectl("get", "rbg", "llm")
    assert code == 0
    assert said.split()[:5] == ["NAME", "READY", "UPDATED", "COORDINATION", "AGE"]
    assert said.splitlines()[1].split()[:3] == ["llm", "3/3", "3/3"]


async def test_nothing_is_written_while_the_group_is_at_rest(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 2), role("router", **kind("Deployment"))))
    await group_settled(ns)

    async def writes() -> float:
        return intact_cluster.metrics()["intact_rbg_writes_total"]

    async def at_rest() -> bool:
        before = await writes(), await _versions(ns)
        await asyncio.sleep(1.0)  # this measures rest, it does not wait for anything
        return (await writes(), await _versions(ns)) == before

    async def others() -> int:
        """Groups of earlier tests that may still be terminating: the counter counts them too."""
        return len((await ns.client.list(GROUPS)).items) - 1

    # The namespace controller takes long if many namespaces terminate at once.
    gone = "other tests' groups to be gone"
    await eventually(others, lambda number: not number, gone, within=300)
    await eventually(at_rest, bool, "the writes to end")
    before, version = await writes(), await _versions(ns)
    # A pod event that changes nothing in the group.
    pods = await role_pods(ns, "prefill")
    await ns.annotate(pods[0]["metadata"]["name"], {"note": "seen"})
    await asyncio.sleep(2.0)  # the same
    assert await writes() == before
    assert await _versions(ns) == version


async def _versions(ns: NamespaceUnderTest) -> dict[str, str]:
    found = {}
    for resource in (
        GROUPS,
        STATEFUL_SETS,
        DEPLOYMENTS,
        SERVICES,
        CONFIG_MAPS,
        ADAPTERS,
        REVISIONS,
    ):
        for one in (await ns.client.list(resource, ns.name)).items:
            name = f"{resource.kind}/{one['metadata']['name']}"
            found[name] = one["metadata"]["resourceVersion"]
    return found


async def test_edits_of_owned_fields_are_undone_and_fields_of_others_are_kept(
    ns: NamespaceUnderTest,
) -> None:
    decode = role("decode", 1, servicePorts=[{"name": "http", "port": 80}])
    await ns.create(GROUPS, group("llm", role("prefill", 2), decode))
    await group_settled(ns)
    for patch in (
        {"spec": {"replicas": 5}},
        {"metadata": {"labels": {GROUP: None}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "engine", "image": "evil"}]}}}},
    ):
        await ns.client.patch(
            STATEFUL_SETS, patch, "llm-prefill", ns.name, type=PatchType.STRATEGIC
        )
        await eventually(lambda: _prefill(ns), _is_as_wanted, f"{patch} to be undone")

    async def service() -> Json:
        found: Json = await ns.client.get(SERVICES, "s-llm-decode", ns.name)
        return found

    async def config() -> Json:
        found: Json = await ns.client.get(CONFIG_MAPS, "llm", ns.name)
        return found

    as_it_was = (await service())["spec"]
    for spec in (
        {"selector": None},
        {"selector": {"app": "evil"}},
        {"ports": None},
        {"ports": [{"name": "http", "port": 81}]},
    ):
        await ns.client.patch(SERVICES, {"spec": spec}, "s-llm-decode", ns.name)
        await eventually(service, lambda found: found["spec"] == as_it_was, f"{spec} to be undone")
    data = {"data": {"config.yaml": "x", "more": "x"}}
    await ns.client.patch(CONFIG_MAPS, data, "llm", ns.name)
    found = await eventually(
        config, lambda found: found["data"]["config.yaml"] != "x", "the addresses to be back"
    )
    assert found["data"]["more"] == "x"
    # Intact leaves fields alone that it does not set.
    others = {"metadata": {"annotations": {"team": "red"}}, "spec": {"revisionHistoryLimit": 3}}
    await ns.client.patch(STATEFUL_SETS, others, "llm-prefill", ns.name)
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 3}])
    await group_settled(ns)
    found = await _prefill(ns)
    assert found["metadata"]["annotations"]["team"] == "red"
    assert found["spec"]["revisionHistoryLimit"] == 3


async def _prefill(ns: NamespaceUnderTest) -> Json:
    found: Json = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
    return found


def _is_as_wanted(found: Json) -> bool:
    [container] = found["spec"]["template"]["spec"]["containers"]
    labels = found["metadata"]["labels"]
    return (found["spec"]["replicas"], container["image"], labels.get(GROUP)) == (
        2,
        "engine:1",
        "llm",
    )


async def test_a_deleted_workload_is_created_again_and_all_objects_go_with_the_group(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 1)))
    await group_settled(ns)
    old = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
    await ns.client.delete(STATEFUL_SETS, "llm-prefill", ns.name)

    async def another() -> bool:
        found = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
        return bool(found["metadata"]["uid"] != old["metadata"]["uid"])

    await eventually(another, bool, "another StatefulSet")
    await group_settled(ns)
    await ns.client.delete(GROUPS, "llm", ns.name)

    async def left() -> list[str]:
        kinds = (STATEFUL_SETS, SERVICES, CONFIG_MAPS, ADAPTERS, REVISIONS, PODS)
        return [name for each in kinds for name in await names_of(ns, each, GROUP)]

    await eventually(left, lambda names: not names, "all to be gone")


async def test_a_renamed_role_and_another_kind_leave_nothing_behind(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 2), role("decode", 1)))
    await group_settled(ns)
    await change(
        ns,
        [
            {"op": "replace", "path": "/spec/roles/0/name", "value": "encode"},
            {
                "op": "replace",
                "path": "/spec/roles/1/workload",
                "value": kind("Deployment")["workload"],
            },
        ],
    )
    await group_settled(ns)

    async def owned() -> dict[str, list[str]]:
        kinds = (STATEFUL_SETS, DEPLOYMENTS, SERVICES, ADAPTERS)
        return {each.kind: await names_of(ns, each) for each in kinds}

    wanted = {
        "StatefulSet": ["llm-encode"],
        "Deployment": ["llm-decode"],
        "Service": ["s-llm-decode", "s-llm-encode"],
        "RoleBasedGroupScalingAdapter": ["llm-decode", "llm-encode"],
    }
    await eventually(owned, lambda found: found == wanted, f"exactly {wanted}")
    found = await group_settled(ns)
    assert [one.name for one in found.status.role_statuses] == ["encode", "decode"]

    async def pods() -> list[str]:
        return [one["metadata"]["name"].rsplit("-", 1)[0] for one in await role_pods(ns, "prefill")]

    await eventually(pods, lambda names: not names, "the old role's pods to be gone")


async def test_two_quick_edits_end_at_the_last_one(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 3), role("decode", 2)))
    await group_settled(ns)
    for image, replicas in (("engine:2", 5), ("engine:3", 2)):
        await change(
            ns,
            [
                {"op": "replace", "path": "/spec/roles/0/template", "value": template(image)},
                {"op": "replace", "path": "/spec/roles/0/replicas", "value": replicas},
            ],
        )
    await group_settled(ns)

    async def images() -> list[str]:
        pods = await role_pods(ns, "prefill")
        return [one["spec"]["containers"][0]["image"] for one in pods]

    await eventually(images, lambda found: found == ["engine:3"] * 2, "two pods of the last image")
    # The other role was not touched.
    sets = await ns.client.get(STATEFUL_SETS, "llm-decode", ns.name)
    assert sets["metadata"]["generation"] == 1


async def test_scaling_by_adapter_or_by_group_restarts_no_pod(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 2), role("decode", 1)))
    await group_settled(ns)
    before = {one["metadata"]["uid"] for one in await role_pods(ns, "prefill")}
    code, said = await ns.kubectl("scale", "rbgsa/llm-prefill", "--replicas=4")
    assert code == 0, said
    await group_until(
        ns, "llm", lambda one: one.spec.roles[0].replicas == 4, "the role to be scaled"
    )
    await group_settled(ns)
    assert before < {one["metadata"]["uid"] for one in await role_pods(ns, "prefill")}

    async def scale() -> Json:
        found: Json = await ns.client.get(ADAPTERS, "llm-prefill", ns.name, subresource="scale")
        return found

    found = await eventually(
        scale, lambda one: one["status"]["replicas"] == 4, "its scale to say so"
    )
    selected = await ns.client.list(PODS, ns.name, labels=found["status"]["selector"])
    assert len(selected.items) == 4
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 1}])
    await group_settled(ns)
    await eventually(scale, lambda one: one["spec"]["replicas"] == 1, "the adapter to follow")
    # A role without replicas takes the number of its adapter.
    await change(ns, [{"op": "remove", "path": "/spec/roles/0/replicas"}])
    await ns.kubectl("scale", "rbgsa/llm-prefill", "--replicas=3")
    await group_until(
        ns, "llm", lambda one: one.status.role_statuses[0].ready_replicas == 3, "three of them"
    )


async def test_roles_start_in_the_order_of_their_dependencies(ns: NamespaceUnderTest) -> None:
    held = template() | {"metadata": {"annotations": {UNREADY: "true"}}}
    prefill = role("prefill", 1) | {"template": held}
    await ns.create(GROUPS, group("llm", role("decode", 1, dependencies=["prefill"]), prefill))
    found = await group_until(
        ns,
        "llm",
        lambda one: any(each.message for each in one.status.role_statuses),
        "decode to wait",
    )
    assert found.status.role_statuses[0].message == "waits for prefill to be ready"
    with pytest.raises(NotFound):
        await ns.client.get(STATEFUL_SETS, "llm-decode", ns.name)
    await ns.until("the pod of prefill", lambda pods: "llm-prefill-0" in pods)
    await ns.annotate("llm-prefill-0", {UNREADY: None})
    await group_settled(ns)
    [prefill_pod], [decode_pod] = (
        await role_pods(ns, "prefill"),
        await role_pods(ns, "decode"),
    )
    [ready] = [one for one in prefill_pod["status"]["conditions"] if one["type"] == "Ready"]
    assert decode_pod["metadata"]["creationTimestamp"] >= ready["lastTransitionTime"]


async def test_a_workload_of_another_owner_under_the_same_name_is_not_taken_over(
    ns: NamespaceUnderTest,
) -> None:
    mine: Json = {
        "metadata": {"name": "llm-prefill"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "mine"}},
            "template": {"metadata": {"labels": {"app": "mine"}}, "spec": template()["spec"]},
        },
    }
    await ns.create(STATEFUL_SETS, mine)
    await ns.create(GROUPS, group("llm", role("prefill", 1), role("decode", 1)))
    found = await group_until(
        ns, "llm", lambda one: one.status.ready == "1/2", "decode to be ready"
    )
    assert condition_of(found, "Ready") == ("False", "RoleNotApplied")
    assert "StatefulSet llm-prefill already exists" in found.status.role_statuses[0].message
    await ns.events("RoleBasedGroup", "llm", "RoleNotApplied")
    await ns.client.delete(STATEFUL_SETS, "llm-prefill", ns.name)
    await group_settled(ns)


async def test_a_refused_workload_is_reported_and_does_not_hold_up_other_roles(
    ns: NamespaceUnderTest,
) -> None:
    """By a quota: an invalid template is refused together with its RoleBasedGroup."""
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/statefulsets.apps": "0"}}}
    await ns.create(QUOTAS, quota)

    async def counted() -> Json:
        found: Json = await ns.client.get(QUOTAS, "none", ns.name)
        return found

    await eventually(counted, lambda one: "used" in one.get("status", {}), "the quota to count")
    body = group("llm", role("prefill", 1), role("decode", 1, **kind("Deployment")))
    await ns.create(GROUPS, body)
    found = await group_until(
        ns, "llm", lambda one: one.status.ready == "1/2", "decode to be ready"
    )
    assert condition_of(found, "Ready") == ("False", "RoleNotApplied")
    assert "exceeded quota" in found.status.role_statuses[0].message
    await ns.events("RoleBasedGroup", "llm", "RoleNotApplied")
    await ns.client.delete(QUOTAS, "none", ns.name)
    await group_settled(ns)


async def test_only_template_changes_make_revisions_and_ten_are_kept(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 0), role("decode", 0)))
    first = (await group_settled(ns)).status.update_revision
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 1}])
    assert (await group_settled(ns)).status.update_revision == first
    seen = {first}
    for number in range(2, 14):
        patch = {
            "op": "replace",
            "path": "/spec/roles/1/template",
            "value": template(f"engine:{number}"),
        }
        await change(ns, [patch])
        found = await group_until(
            ns, "llm", lambda one: one.status.update_revision not in seen, "a new revision"
        )
        seen.add(found.status.update_revision)

    async def kept() -> list[Json]:
        page = await ns.client.list(REVISIONS, ns.name, labels=REVISION)
        return sorted(page.items, key=lambda one: one["revision"])

    history = await eventually(kept, lambda found: len(found) == 10, "ten revisions")
    assert [one["revision"] for one in history] == list(range(4, 14))
    # Going back to known templates makes their revision the newest.
    await change(
        ns, [{"op": "replace", "path": "/spec/roles/1/template", "value": template("engine:9")}]
    )
    again = await eventually(kept, lambda found: found[-1]["revision"] == 14, "it to be the newest")
    assert len(again) == 10


async def test_the_stored_group_decodes_into_the_model(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 1)))
    found = await ns.client.get(RBGS, "llm", ns.name)
    assert found.spec.roles[0].workload.kind == "StatefulSet"
