"""The label by which routers find pods of one revision: on every pod, from its creation on."""

import pytest

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, State, eventually
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import group, kind, role, rolling, template
from tests.support.rbg_rollout import revision
from tests.support.rbg_waiting import (
    GROUPS,
    REVISION,
    ROLE,
    change,
    group_settled,
    group_until,
    role_pods,
)

ROLES = ("prefill", "decode")
Found = dict[tuple[str, str], set[str | None]]
"""By role and revision of its own template: what routers read."""


def four_two(workload: str = "StatefulSet", **strategy: str) -> Json:
    prefill = role("prefill", 4, **kind(workload))
    return group("llm", prefill, role("decode", 2), coordination=[rolling(*ROLES, **strategy)])


async def pods(ns: NamespaceUnderTest) -> list[Json]:
    return [pod for name in ROLES for pod in await role_pods(ns, name)]


def key(pod: Json) -> tuple[str, str]:
    role = pod["metadata"]["labels"][ROLE]
    return role, revision(pod, role)


def labels(found: list[Json]) -> Found:
    by_template: Found = {}
    for pod in found:
        own = pod["metadata"]["labels"]
        by_template.setdefault(key(pod), set()).add(own.get(REVISION))
    return by_template


async def labelled(ns: NamespaceUnderTest) -> Found:
    def is_clear(found: list[Json]) -> bool:
        return all(len(one) == 1 and one != {None} for one in labels(found).values())

    return labels(await eventually(lambda: pods(ns), is_clear, "all pods to have the label"))


async def half_updated(ns: NamespaceUnderTest) -> Found:
    """Half of each role runs the old templates, and stays so. Returns the labels."""
    await ns.create(GROUPS, four_two(maxUnavailableRatio="50%", partition="50%"))
    await group_settled(ns)
    before = await labelled(ns)
    new = template("engine:2")
    paths = [f"/spec/roles/{index}/template" for index in range(2)]
    await change(ns, [{"op": "replace", "path": path, "value": new} for path in paths])
    await group_until(
        ns, "llm", lambda one: one.status.coordinating == "Paused", "the partition to be reached"
    )
    after = await labelled(ns)
    assert len(after) == 4
    assert {name: after[name] for name in before} == before
    assert len({label for one in after.values() for label in one}) == 2
    return after


def new_pods(states: list[State]) -> list[Json]:
    """Every pod that was not there at first, as each state has it."""
    return [
        pod
        for state in states
        for uid, pod in state.items()
        if uid not in states[0] and ROLE in pod["metadata"].get("labels", {})
    ]


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_a_pod_that_restarts_has_the_label_from_its_creation(
    ns: NamespaceUnderTest, workload: str
) -> None:
    await ns.create(GROUPS, four_two(workload))
    await group_settled(ns)
    expected = await labelled(ns)
    async with ns.watched() as watched:
        for pod in await role_pods(ns, "prefill"):
            await ns.delete(pod["metadata"]["name"])
        await ns.delete("llm-decode-1")
        await watched.until(lambda state: len(state.keys() - watched.states[0].keys()) == 5)
    made = new_pods(watched.states)
    assert made
    assert labels(made) == expected


async def test_during_a_rollout_a_pod_has_the_label_of_the_template_that_it_is_made_from(
    ns: NamespaceUnderTest,
) -> None:
    expected = await half_updated(ns)
    async with ns.watched() as watched:
        for name in ("llm-prefill-0", "llm-prefill-3", "llm-decode-0", "llm-decode-1"):
            await ns.delete(name)
        await watched.until(lambda state: len(state.keys() - watched.states[0].keys()) == 4)
    assert labels(new_pods(watched.states)) == expected


async def test_a_pod_made_while_intact_is_down_gets_it_as_soon_as_it_is_back(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    expected = await half_updated(ns)
    async with ns.watched() as watched:
        intact_cluster.stop()
        try:
            for name in ("llm-prefill-0", "llm-prefill-3"):
                await ns.delete(name)
            await watched.until(lambda state: len(state.keys() - watched.states[0].keys()) == 2)
        finally:
            intact_cluster.restore()
        await eventually(lambda: labelled(ns), lambda found: found == expected, "the labels")
    for pod in new_pods(watched.states):
        assert pod["metadata"]["labels"].get(REVISION) in {None, *expected[key(pod)]}


async def test_a_forged_label_is_corrected(ns: NamespaceUnderTest) -> None:
    body = four_two()
    for each in body["spec"]["roles"]:
        each["template"]["metadata"] = {"labels": {REVISION: "forged"}}
    async with ns.watched() as watched:
        await ns.create(GROUPS, body)
        await group_settled(ns)
    made = new_pods(watched.states)
    assert made
    assert all("forged" not in one for one in labels(made).values())
    assert all(None not in one for one in labels(made).values())
    expected = await labelled(ns)
    patch = {"metadata": {"labels": {REVISION: "forged"}}}
    await ns.client.patch(PODS, patch, "llm-prefill-1", ns.name)
    await eventually(lambda: pods(ns), lambda found: labels(found) == expected, "the true label")


async def test_a_label_forged_on_an_old_pod_is_corrected(ns: NamespaceUnderTest) -> None:
    expected = await half_updated(ns)
    patch = {"metadata": {"labels": {REVISION: "forged"}}}
    await ns.client.patch(PODS, patch, "llm-prefill-0", ns.name)
    await eventually(lambda: pods(ns), lambda found: labels(found) == expected, "the true label")
