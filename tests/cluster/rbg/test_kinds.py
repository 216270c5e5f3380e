"""All three kinds of workloads in one RoleBasedGroup, also before the CRD of LeaderWorkerSets."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.leader_worker_sets import install_sets, remove_sets, simulated_sets
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.rbg_objects import Json, group, kind, role, rolling, template
from tests.support.rbg_rollout import check_bounds, course, intact, revision
from tests.support.rbg_waiting import (
    DEPLOYMENTS,
    GROUPS,
    SETS,
    STATEFUL_SETS,
    change,
    completed,
    condition_of,
    group_settled,
    group_until,
    names_of,
    role_pods,
)


@pytest.fixture(autouse=True)
def no_sets_left(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    yield
    runner.run(remove_sets(ns.client))


def three_kinds() -> Json:
    sets = {
        "size": 2,
        "patchLeaderTemplate": {
            "metadata": {"labels": {"leads": "yes"}},
            "spec": {"containers": [{"name": "engine", "args": ["--leader"]}]},
        },
        "patchWorkerTemplate": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}},
    }
    return group(
        "llm",
        role("prefill", 2),
        role("router", 1, **kind("Deployment")),
        role("decode", 2, leaderWorkerSet=sets, **kind("LeaderWorkerSet")),
    )


async def test_roles_of_three_kinds_are_made_updated_and_removed_in_one_group(
    ns: NamespaceUnderTest,
) -> None:
    await install_sets(ns.client)
    async with simulated_sets(ns.client, ns.name):
        await ns.create(GROUPS, three_kinds())
        found = await group_settled(ns)
        assert found.status.ready == "5/5"
        assert await names_of(ns, STATEFUL_SETS) == ["llm-prefill"]
        assert await names_of(ns, DEPLOYMENTS) == ["llm-router"]
        made = await ns.client.get(SETS, "llm-decode", ns.name)
        both = made["spec"]["leaderWorkerTemplate"]
        assert (both["size"], both["restartPolicy"]) == (2, "RecreateGroupOnPodRestart")
        assert both["leaderTemplate"]["metadata"]["labels"]["leads"] == "yes"
        leader, worker = (
            both[each]["spec"]["containers"] for each in ("leaderTemplate", "workerTemplate")
        )
        assert [(one["name"], one.get("args")) for one in leader] == [("engine", ["--leader"])]
        assert [one["name"] for one in worker] == ["engine", "side"]
        assert len(await role_pods(ns, "decode")) == 4

        # A role is updated by its own workload, and the other workloads stay as they are.
        await change(
            ns,
            [{"op": "replace", "path": "/spec/roles/2/template", "value": template("engine:2")}],
        )
        await group_settled(ns)

        async def images() -> set[str]:
            pods = await role_pods(ns, "decode")
            return {one["spec"]["containers"][0]["image"] for one in pods}

        await eventually(images, lambda found: found == {"engine:2"}, "the new image only")
        sets = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
        assert sets["metadata"]["generation"] == 1

        # A replica is ready when all of its pods are.
        [pod] = [
            one for one in await role_pods(ns, "decode") if one["metadata"]["name"].endswith("-1-1")
        ]
        await ns.annotate(pod["metadata"]["name"], {"devcluster.intact.dev/unready": "true"})
        await group_until(ns, "llm", lambda one: one.status.ready == "4/5", "one replica less")

        await change(ns, [{"op": "remove", "path": "/spec/roles/2"}])
        await eventually(lambda: names_of(ns, SETS), lambda names: not names, "it to be removed")


async def test_roles_of_three_kinds_are_rolled_out_in_step(ns: NamespaceUnderTest) -> None:
    """Under one plan, each kind by its own means; the LeaderWorkerSet by its partition."""
    body = three_kinds()
    sizes = {"prefill": 6, "router": 3, "decode": 3}
    for one in body["spec"]["roles"]:
        one["replicas"] = sizes[one["name"]]
    body["spec"]["coordination"] = [rolling(*sizes, maxSkew="34%", maxUnavailableRatio="34%")]
    await install_sets(ns.client)
    async with simulated_sets(ns.client, ns.name):
        await ns.create(GROUPS, body)
        await group_settled(ns)
        old = {name: {revision(pod, name) for pod in await role_pods(ns, name)} for name in sizes}
        async with ns.watched() as watched:
            await change(
                ns,
                [
                    {
                        "op": "replace",
                        "path": f"{path}/spec/containers/0/image",
                        "value": "engine:2",
                    }
                    for path in (f"/spec/roles/{at}/template" for at in range(3))
                ],
            )
            found = await group_until(ns, "llm", completed, "the rollout to be completed")
        moments = course(watched, sizes, old, {"decode": 2})
        check_bounds(moments, skew=34, unavailable=34)
        [state] = found.status.coordination_state
        assert {name: (one.state, one.ready) for name, one in state.progress.items()} == {
            name: ("Completed", number) for name, number in sizes.items()
        }
        made = await ns.client.get(SETS, "llm-decode", ns.name)
        assert made["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"] == {
            "partition": 0,
            "maxUnavailable": 1,
        }
        # Undo brings all roles back.
        code, said = await intact(ns, "rbg", "undo", "llm")
        assert code == 0, said
        await group_settled(ns)

        async def revisions() -> dict[str, set[str]]:
            return {
                name: {revision(pod, name) for pod in await role_pods(ns, name)} for name in sizes
            }

        await eventually(revisions, lambda found: found == old, f"the revisions {old} only")


async def test_a_role_may_depend_on_a_set_without_an_observed_generation(
    ns: NamespaceUnderTest,
) -> None:
    body = three_kinds()
    body["spec"]["roles"][0]["dependencies"] = ["decode"]
    await install_sets(ns.client)
    async with simulated_sets(ns.client, ns.name, observed_generation=False):
        await ns.create(GROUPS, body)
        await group_settled(ns)


async def test_a_role_waits_for_the_crd_of_its_kind_while_other_roles_go_on(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.create(GROUPS, three_kinds())
    found = await group_until(
        ns, "llm", lambda one: one.status.ready == "3/5", "the other roles to be ready"
    )
    assert condition_of(found, "Ready") == ("False", "RoleNotReady")
    [decode] = [one for one in found.status.role_statuses if one.name == "decode"]
    assert decode.message == (
        "waits for the kind LeaderWorkerSet (leaderworkersets.leaderworkerset.x-k8s.io), "
        "which the API server does not serve"
    )
    assert all(each.is_ready() for each in intact_cluster.operators), "the operators stay ready"
    await install_sets(ns.client)
    async with simulated_sets(ns.client, ns.name):
        await group_settled(ns)
