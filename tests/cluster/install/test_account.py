"""All controllers of Intact with exactly the rights that its manifests give them.

After each test, the API server must have forbidden nothing that Intact asked for
(`cluster_with_account`).
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.leader_worker_sets import install_sets, remove_sets, simulated_sets
from tests.support.namespace_under_test import (
    UNREADY,
    WITHIN,
    NamespaceUnderTest,
    eventually,
    groups_down,
)
from tests.support.objects import PDBS, PODS, Json
from tests.support.pdb_groups import Groups, condition
from tests.support.pub_cases import amount
from tests.support.rbg_objects import batches, group, kind, role, rolling, template
from tests.support.rbg_rollout import intact
from tests.support.rbg_waiting import (
    ADAPTERS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    REVISION,
    REVISIONS,
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

OWNED = (STATEFUL_SETS, DEPLOYMENTS, SETS, SERVICES, CONFIG_MAPS, ADAPTERS)


@pytest.fixture
def intact_cluster(cluster_with_account: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_account


@pytest.fixture
def sets(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    """The CRD of LeaderWorkerSets."""
    runner.run(install_sets(ns.client))
    yield
    runner.run(remove_sets(ns.client))


async def owned(ns: NamespaceUnderTest) -> dict[str, list[str]]:
    return {each.kind: await names_of(ns, each, GROUP) for each in OWNED}


async def images(ns: NamespaceUnderTest) -> set[str]:
    pods = (await ns.client.list(PODS, ns.name, labels=ROLE)).items
    return {one["spec"]["containers"][0]["image"] for one in pods}


@pytest.mark.usefixtures("sets")
async def test_a_group_of_all_kinds_from_its_creation_to_its_end(ns: NamespaceUnderTest) -> None:
    sizes = {"prefill": 4, "router": 2, "decode": 2}
    body = group(
        "llm",
        role("prefill", 4),
        role("router", 2, **kind("Deployment")),
        role("decode", 2, leaderWorkerSet={"size": 2}, **kind("LeaderWorkerSet")),
        coordination=[rolling(*sizes, maxSkew="50%", maxUnavailableRatio="50%")],
    )
    async with simulated_sets(ns.client, ns.name):
        await ns.create(GROUPS, body)
        await group_settled(ns)
        assert await owned(ns) == {
            "StatefulSet": ["llm-prefill"],
            "Deployment": ["llm-router"],
            "LeaderWorkerSet": ["llm-decode"],
            "Service": ["s-llm-prefill", "s-llm-router"],
            "ConfigMap": ["llm"],
            "RoleBasedGroupScalingAdapter": ["llm-decode", "llm-prefill", "llm-router"],
        }
        await ns.events("RoleBasedGroup", "llm", "AllRolesReady")

        await change(
            ns,
            [
                {
                    "op": "replace",
                    "path": f"/spec/roles/{at}/template",
                    "value": template("engine:2"),
                }
                for at in range(3)
            ],
        )
        await group_until(ns, "llm", completed, "the rollout to be completed")
        await eventually(
            lambda: images(ns), lambda found: found == {"engine:2"}, "the new image only"
        )

        for name, replicas in {"prefill": 5, "router": 3, "decode": 3}.items():
            code, said = await ns.kubectl("scale", f"rbgsa/llm-{name}", f"--replicas={replicas}")
            assert code == 0, said
        await group_until(ns, "llm", lambda one: one.status.ready == "11/11", "all to be scaled")

        code, said = await intact(ns, "rbg", "undo", "llm")
        assert code == 0, said
        await eventually(lambda: images(ns), lambda found: found == {"engine:1"}, "the old image")
        await group_settled(ns)

        # One role renamed, one of another kind, one gone.
        workload = kind("Deployment")["workload"]
        await change(
            ns,
            [
                {
                    "op": "replace",
                    "path": "/spec/coordination/0/roles",
                    "value": ["encode", "router"],
                },
                {"op": "replace", "path": "/spec/roles/0/name", "value": "encode"},
                {"op": "replace", "path": "/spec/roles/0/workload", "value": workload},
                {"op": "remove", "path": "/spec/roles/2"},
            ],
        )
        left = {
            "StatefulSet": [],
            "LeaderWorkerSet": [],
            "Service": ["s-llm-encode", "s-llm-router"],
            "ConfigMap": ["llm"],
            "RoleBasedGroupScalingAdapter": ["llm-encode", "llm-router"],
        }
        await eventually(
            lambda: owned(ns), lambda found: left.items() <= found.items(), f"only {left}"
        )
        await ns.events("RoleBasedGroup", "llm", "Removed")
        await group_until(
            ns, "llm", lambda one: settled(one) and one.status.ready == "8/8", "all to be ready"
        )

        await ns.client.delete(GROUPS, "llm", ns.name)
        # The garbage collector discovers new kinds every 30 s.
        await eventually(
            lambda: owned(ns),
            lambda found: not any(found.values()),
            "nothing to be left",
            within=3 * WITHIN,
        )
        # The pods of a new kind wait until the garbage collector has discovered it.
        await ns.until(
            "the pods of stock workloads to be gone",
            lambda pods: all("decode" in name for name in pods),
            within=3 * WITHIN,
        )


async def test_old_revisions_are_removed_and_a_known_one_becomes_the_newest(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 0)))
    seen = {(await group_settled(ns)).status.update_revision}

    def is_new(one: RoleBasedGroup) -> bool:
        return one.status.update_revision not in seen

    async def use(number: int) -> None:
        image = template(f"engine:{number}")
        await change(ns, [{"op": "replace", "path": "/spec/roles/0/template", "value": image}])

    for number in range(2, 13):
        await use(number)
        found = await group_until(ns, "llm", is_new, f"revision {number}")
        seen.add(found.status.update_revision)
    await use(8)

    async def numbers() -> list[int]:
        page = await ns.client.list(REVISIONS, ns.name, labels=REVISION)
        return sorted(one["revision"] for one in page.items)

    wanted = [3, 4, 5, 6, 7, 9, 10, 11, 12, 13]
    await eventually(numbers, lambda found: found == wanted, f"the revisions {wanted}")


async def test_a_rollout_and_a_drain_under_a_budget(ns: NamespaceUnderTest) -> None:
    """While the budget is spent, the rollout waits; then both go on."""
    labels = {"app": "web", "test": ns.name}
    body = template() | {"metadata": {"labels": labels}}
    both = (role("prefill", 4) | {"template": body}, role("decode", 2) | {"template": body})
    rules = rolling("prefill", "decode", maxSkew="50%", maxUnavailableRatio="50%")
    await ns.create(GROUPS, group("llm", *both, coordination=[rules]))
    await group_settled(ns)
    await ns.budget(amount(0), unavailable_allowed=0)
    await change(
        ns,
        [
            {
                "op": "replace",
                "path": f"/spec/roles/{at}/template/spec/containers/0/image",
                "value": "engine:2",
            }
            for at in range(2)
        ],
    )

    def is_refused(one: RoleBasedGroup) -> bool:
        states = [each.progress.values() for each in one.status.coordination_state]
        return any("a budget of pod" in role.waiting_for for each in states for role in each)

    await group_until(ns, "llm", is_refused, "the rollout to wait for the budget")
    code, said = await ns.kubectl(
        "patch", "pub", "budget", "--type=merge", '--patch={"spec":{"maxUnavailable":1}}'
    )
    assert code == 0, said
    async with ns.drain("node-0") as drain:
        assert await drain.ended() == 0, drain.said
    await group_settled(ns)
    assert await images(ns) == {"engine:2"}


async def test_a_stalled_rollout_is_rolled_back(ns: NamespaceUnderTest) -> None:
    rules = rolling("prefill", "decode", maxSkew="50%", maxUnavailableRatio="50%")
    end = {"progressDeadlineSeconds": 2, "onFailure": "Rollback"}
    both = (role("prefill", 2), role("decode", 2))
    await ns.create(GROUPS, group("llm", *both, coordination=[rules], **end))
    first = (await group_settled(ns)).status.update_revision
    broken = template("engine:2") | {"metadata": {"annotations": {UNREADY: "true"}}}
    await change(
        ns,
        [
            {"op": "replace", "path": f"/spec/roles/{at}/template", "value": broken}
            for at in range(2)
        ],
    )
    await ns.events("RoleBasedGroup", "llm", "RollbackStarted")
    assert (await group_settled(ns)).status.update_revision == first
    assert await images(ns) == {"engine:1"}


async def test_each_batch_is_placed_on_a_node_of_its_own(ns: NamespaceUnderTest) -> None:
    body = group(
        "llm",
        role("prefill", 4),
        role("decode", 2, **kind("Deployment")),
        coordination=[batches({"prefill": 2, "decode": 1})],
    )
    await ns.create(GROUPS, body)
    await group_settled(ns)
    places: dict[str, set[str]] = {}
    for name in ("prefill", "decode"):
        for pod in await role_pods(ns, name):
            number = pod["metadata"]["labels"]["batch.coordination.workloads.x-k8s.io/batched"]
            places.setdefault(number, set()).add(pod["spec"]["nodeName"])
    assert places.keys() == {"0", "1"}
    assert all(len(nodes) == 1 for nodes in places.values())
    assert places["0"] != places["1"]


async def test_a_drain_under_a_native_budget_in_groups(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.workload(need=2)
    need = {"red": 2, "blue": 2}
    for name in need:
        await groups.pod_group(name, need=2)
        await groups.pods_of(name, {f"{name}-0": "node-0", f"{name}-1": "node-1"})
    await groups.budget(minAvailable=1)
    found = await groups.counted(allowed=1, healthy=2)
    assert condition(found, "BudgetConfigured")[:2] == ("True", "ValidConfig")
    async with ns.watched() as watched, ns.drain("node-0") as drain:
        await drain.says("will retry")
        await groups.counted(allowed=0, healthy=1)
        await groups.edit(spec={"minAvailable": 0})
        assert await drain.ended() == 0, drain.said
    downs = [groups_down(state, "group", need) for state in watched.states]
    assert {len(each) for each in downs} == {0, 1, 2}


async def test_native_budgets_in_pods_are_counted_by_the_scale_of_each_owner(
    ns: NamespaceUnderTest,
) -> None:
    """By the disruption controller. A Job has no scale: its budget cannot be counted."""
    await ns.create(GROUPS, group("llm", role("prefill", 2)))
    code, said = await ns.kubectl("create", "deployment", "web", "--image=x", "--replicas=3")
    assert code == 0, said
    code, said = await ns.kubectl("create", "job", "once", "--image=x")
    assert code == 0, said
    await ns.pods("alone", labels={"app": "alone"})
    # Before the Job has a pod, its budget is counted without a problem.
    await ns.until("the Job's pod", lambda pods: any(name.startswith("once-") for name in pods))
    selectors = {"web": {"app": "web"}, "prefill": {ROLE: "prefill"}, "job": {"job-name": "once"}}
    for name, labels in selectors.items():
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
        await ns.create(PDBS, {"metadata": {"name": name}, "spec": spec})
    alone = {"minAvailable": 1, "selector": {"matchLabels": {"app": "alone"}}}
    await ns.create(PDBS, {"metadata": {"name": "alone"}, "spec": alone})

    async def counted() -> dict[str, tuple[int, int, int]]:
        page = await ns.client.list(PDBS, ns.name)
        return {
            one["metadata"]["name"]: (
                one["status"]["expectedPods"],
                one["status"]["currentHealthy"],
                one["status"]["disruptionsAllowed"],
            )
            for one in page.items
            if one["status"].get("observedGeneration")
        }

    wanted = {"web": (3, 3, 1), "prefill": (2, 2, 1), "alone": (1, 1, 0)}
    await eventually(counted, lambda found: found == wanted, f"the counts {wanted}")
    await ns.events("PodDisruptionBudget", "job", "CalculateExpectedPodCountFailed")
    assert (await ns.evict("llm-prefill-0")).code == 201
    assert (await ns.evict("alone")).code == 429


async def test_a_stale_disruption_target_condition_is_set_to_false(ns: NamespaceUnderTest) -> None:
    await ns.pods("a")
    long_ago = (datetime.now(UTC) - timedelta(minutes=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": long_ago,
    }
    assert (await ns.change("a", {"status": {"conditions": [target]}}, "status")).code == 200

    def is_taken_back(pods: dict[str, Json]) -> bool:
        conditions = pods["a"]["status"]["conditions"]
        return [one["status"] for one in conditions if one["type"] == "DisruptionTarget"] == [
            "False"
        ]

    await ns.until("the condition to be taken back", is_taken_back)
