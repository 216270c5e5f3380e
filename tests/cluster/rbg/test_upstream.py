"""Manifests of the upstream v1alpha1 API on a real cluster: honoured, or refused with a reason."""

import asyncio
from collections.abc import Iterator

import pytest

from intact.rollout.spec.exclusive import EXCLUSIVE
from tests.support.leader_worker_sets import install_sets, remove_sets, simulated_sets
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import PODS
from tests.support.rbg_cases import Case
from tests.support.rbg_objects import Json, group, kind, role, template
from tests.support.rbg_upstream import (
    BASE,
    HONOURED,
    PATCHED,
    REFUSED_UPSTREAM,
    by_reference,
    rollout,
)
from tests.support.rbg_waiting import (
    ADAPTERS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    SETS,
    STATEFUL_SETS,
    change,
    group_settled,
    group_until,
    names_of,
    role_pods,
)


@pytest.fixture
def sets(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    runner.run(install_sets(ns.client))
    yield
    runner.run(remove_sets(ns.client))


def replaced(path: str, value: object) -> list[Json]:
    return [{"op": "replace", "path": path, "value": value}]


async def test_kubectl_applies_what_upstream_manifests_say_with_strict_validation(
    ns: NamespaceUnderTest,
) -> None:
    wrong = []
    for case in HONOURED:
        code, said = await ns.kubectl(
            "apply", "--validate=strict", "--dry-run=server", "-f", "-", stdin=case.body
        )
        if code:
            wrong.append((case.name, said))
    assert wrong == []


@pytest.mark.parametrize("case", [*REFUSED_UPSTREAM, PATCHED], ids=lambda case: case.name)
async def test_what_intact_cannot_do_is_refused_at_its_field(
    ns: NamespaceUnderTest, case: Case
) -> None:
    code, said = await ns.kubectl("apply", "--validate=strict", "-f", "-", stdin=case.body)
    assert code == 1
    assert case.field in said
    assert case.message in said
    assert "unknown field" not in said


async def test_a_field_without_effect_brings_a_warning(ns: NamespaceUnderTest) -> None:
    body = group("llm", role("prefill", 4, **rollout(maxUnavailable=2, maxSurge=2)))
    code, said = await ns.kubectl("apply", "--dry-run=server", "-f", "-", stdin=body)
    assert code == 0
    assert (
        "Warning: spec.roles[0].rolloutStrategy.rollingUpdate.maxSurge has no effect: "
        "a StatefulSet cannot run more pods than replicas"
    ) in said


async def test_a_rollout_strategy_and_a_restart_policy_reach_the_workload(
    ns: NamespaceUnderTest, sets: None
) -> None:
    body = group(
        "llm",
        role("prefill", 2, **rollout(maxUnavailable=1, partition=1)),
        role("router", 2, **kind("Deployment"), **rollout(maxUnavailable=0, maxSurge=2)),
        role(
            "decode",
            2,
            leaderWorkerSet={"size": 2},
            restartPolicy="None",
            **kind("LeaderWorkerSet"),
            **rollout(maxSurge="50%", partition=1),
        ),
        role("encode", 1, **kind("LeaderWorkerSet")),
    )
    async with simulated_sets(ns.client, ns.name):
        await ns.create(GROUPS, body)
        await group_settled(ns)
        found = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
        assert found["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 1
        found = await ns.client.get(DEPLOYMENTS, "llm-router", ns.name)
        rolling = {"maxUnavailable": 0, "maxSurge": 2}
        assert found["spec"]["strategy"]["rollingUpdate"] == rolling
        found = await ns.client.get(SETS, "llm-decode", ns.name)
        assert found["spec"]["leaderWorkerTemplate"]["restartPolicy"] == "None"
        rolling = found["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
        assert rolling == {"partition": 1, "maxSurge": "50%"}
        found = await ns.client.get(SETS, "llm-encode", ns.name)
        again = "RecreateGroupOnPodRestart"
        assert found["spec"]["leaderWorkerTemplate"]["restartPolicy"] == again

        # The partition holds the lower ordinal, as the rolloutStrategy says.
        await change(ns, replaced("/spec/roles/0/template", template("engine:2")))

        async def images() -> dict[str, str]:
            return {
                one["metadata"]["name"]: one["spec"]["containers"][0]["image"]
                for one in await role_pods(ns, "prefill")
            }

        expected = {"llm-prefill-0": "engine:1", "llm-prefill-1": "engine:2"}
        await eventually(images, lambda found: found == expected, "the higher ordinal to be new")


async def test_a_paused_rollout_strategy_holds_every_replica(ns: NamespaceUnderTest) -> None:
    body = group(
        "llm",
        role("prefill", 2, **rollout(paused=True)),
        role("router", 2, **kind("Deployment"), **rollout(paused=True)),
    )
    await ns.create(GROUPS, body)
    await group_settled(ns)

    async def paused() -> bool:
        found = await ns.client.get(DEPLOYMENTS, "llm-router", ns.name)
        return bool(found["spec"].get("paused"))

    await eventually(paused, bool, "the Deployment to be paused")
    await change(
        ns,
        [
            *replaced("/spec/roles/0/template", template("engine:2")),
            *replaced("/spec/roles/1/template", template("engine:2")),
        ],
    )

    async def written() -> list[str]:
        sets = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
        deployment = await ns.client.get(DEPLOYMENTS, "llm-router", ns.name)
        return [
            one["spec"]["template"]["spec"]["containers"][0]["image"] for one in (sets, deployment)
        ]

    await eventually(written, lambda found: found == ["engine:2"] * 2, "the templates")
    assert await paused()
    sets = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
    assert sets["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 2

    # Until it goes on.
    await change(
        ns,
        [
            *replaced("/spec/roles/0/rolloutStrategy/rollingUpdate/paused", False),
            *replaced("/spec/roles/1/rolloutStrategy/rollingUpdate/paused", False),
        ],
    )

    async def images() -> set[str]:
        pods = [*await role_pods(ns, "prefill"), *await role_pods(ns, "router")]
        return {one["spec"]["containers"][0]["image"] for one in pods}

    await eventually(images, lambda found: found == {"engine:2"}, "the new image only", within=180)


async def test_a_role_has_a_scaling_adapter_unless_it_switches_it_off(
    ns: NamespaceUnderTest,
) -> None:
    body = group(
        "llm",
        role("prefill", scalingAdapter={"enable": True, "labels": {"tier": "gold"}}),
        role("decode", 2, scalingAdapter={"enable": False}),
        role("router"),
    )
    await ns.create(GROUPS, body)
    await group_settled(ns)
    assert await names_of(ns, ADAPTERS) == ["llm-prefill", "llm-router"]
    found = await ns.client.get(ADAPTERS, "llm-prefill", ns.name)
    assert found["metadata"]["labels"]["tier"] == "gold"

    # Off and on again. The role keeps its number.
    await change(ns, replaced("/spec/roles/0/scalingAdapter/enable", False))
    await change(ns, replaced("/spec/roles/1/scalingAdapter/enable", True))
    names = ["llm-decode", "llm-router"]
    await eventually(lambda: names_of(ns, ADAPTERS), lambda found: found == names, "the adapters")
    await ns.client.patch(ADAPTERS, {"spec": {"replicas": 3}}, "llm-decode", ns.name)
    scaled = await group_until(
        ns, "llm", lambda one: one.spec.roles[1].replicas == 3, "the number of the adapter"
    )
    assert scaled.spec.roles[0].replicas == 1


async def test_roles_take_their_template_by_reference_and_follow_its_changes(
    ns: NamespaceUnderTest,
) -> None:
    patch = {"spec": {"containers": [{"name": "engine", "args": ["--decode"]}]}}
    body = group(
        "llm",
        by_reference("prefill", 2, patch={}),
        by_reference("decode", patch=patch),
        role("router"),
        roleTemplates=[BASE],
    )
    await ns.create(GROUPS, body)
    first = await group_settled(ns)

    async def containers(name: str) -> list[tuple[str, list[str] | None]]:
        pods = await role_pods(ns, name)
        found = [one["spec"]["containers"][0] for one in pods]
        return [(one["image"], one.get("args")) for one in found]

    assert await containers("prefill") == [("engine:1", None)] * 2
    assert await containers("decode") == [("engine:1", ["--decode"])]

    await change(ns, replaced("/spec/roleTemplates/0/template", template("engine:2")))
    await group_until(
        ns,
        "llm",
        lambda one: one.status.update_revision != first.status.update_revision,
        "a new revision",
    )
    await group_settled(ns)
    wanted = [("engine:2", ["--decode"])]
    await eventually(lambda: containers("decode"), lambda found: found == wanted, "the new image")
    assert await containers("prefill") == [("engine:2", None)] * 2
    assert await containers("router") == [("engine:1", None)]


async def test_a_group_without_upstream_fields_is_stored_as_it_was(ns: NamespaceUnderTest) -> None:
    """No default of a new field changes an object that does not have it."""
    await ns.create(GROUPS, group("llm", role("prefill")))
    [stored] = (await ns.client.get(GROUPS, "llm", ns.name))["spec"]["roles"]
    assert set(stored) == {"name", "replicas", "template", "workload"}


async def test_groups_with_an_exclusive_topology_have_a_node_of_their_own(
    ns: NamespaceUnderTest,
) -> None:
    """All pods of each on one node, and never two of them on the same one."""
    annotations = {EXCLUSIVE: "kubernetes.io/hostname"}
    for name in ("one", "two"):
        body = group(name, role("prefill", 3), role("router", 2, **kind("Deployment")))
        body["metadata"]["annotations"] = annotations
        await ns.create(GROUPS, body)
    for name in ("one", "two"):
        await group_settled(ns, name)
    nodes = {
        name: {one["spec"]["nodeName"] for one in await group_pods(ns, name)}
        for name in ("one", "two")
    }
    assert [len(found) for found in nodes.values()] == [1, 1]
    assert nodes["one"] != nodes["two"]


async def group_pods(ns: NamespaceUnderTest, name: str) -> list[Json]:
    found: list[Json] = (await ns.client.list(PODS, ns.name, labels=f"{GROUP}={name}")).items
    assert len(found) == 5
    return found
