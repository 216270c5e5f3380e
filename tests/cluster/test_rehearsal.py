"""Three clusters, rehearsed from a snapshot and then really drained with kubectl: the most units
that are down at once, the pods that never go, and the time agree."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from intact.cli.main import main
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    NamespaceUnderTest,
    State,
    available_in,
    groups_down,
    names_in,
)
from tests.support.objects import (
    DEPLOYMENTS,
    PDBS,
    SLOW_PROBE,
    STATEFUL_SETS,
    Json,
    deployment,
    spread_stateful_set,
)
from tests.support.pdb_groups import NEEDS_POD_GROUPS, Groups

GROUP = "shard"
WITHIN = 0.25
"""Of the real time."""
STUCK_AFTER = 25
"""Seconds after which a real drain is taken not to end."""
Down = Callable[[State], int]


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


async def rehearsed(ns: NamespaceUnderTest, directory: Path, *nodes: str) -> tuple[int, Json]:
    """The exit code and the report, by way of a file."""
    file, kubeconfig = str(directory / "snapshot.json.gz"), str(ns.cluster.kubeconfig)
    taken = await asyncio.to_thread(
        CliRunner().invoke, main, ["snapshot", "--kubeconfig", kubeconfig, "-o", file]
    )
    assert taken.exit_code == 0, taken.output
    arguments = ["rehearse", "drain", *nodes, "--from", file, "-o", "json"]
    found = await asyncio.to_thread(CliRunner().invoke, main, arguments)
    assert found.exit_code in (0, 3), found.output
    return found.exit_code, msgspec.json.decode(found.stdout)


async def drained(
    ns: NamespaceUnderTest, counts: Mapping[str, Down], *nodes: str, timeout: str = "2m"
) -> tuple[int, float, float, dict[str, int], set[str]]:
    """Of the real drain: the exit code, its seconds, the seconds until the last pod went, by budget
    the most units that were down, and the pods of the nodes that did not go."""
    held = {name for node in nodes for name in await ns.on_node(node)}
    options = ("--ignore-daemonsets", f"--timeout={timeout}")
    async with ns.watched() as watched:
        clock = asyncio.get_running_loop().time
        begun = clock()
        async with ns.drain(nodes[0], *nodes[1:], *options) as drain:
            code = await drain.ended()
        took, last = clock() - begun, watched.last_taken() - begun
    most = {name: max(map(down, watched.states)) for name, down in counts.items()}
    return code, took, last, most, held & names_in(watched.states[-1]) - gone(watched.states)


def gone(states: list[State]) -> set[str]:
    """The names of first pods that have gone; a StatefulSet's come back under the same name."""
    first, last = states[0], states[-1]
    return {one["metadata"]["name"] for uid, one in first.items() if uid not in last}


def most_down(report: Json, ns: NamespaceUnderTest) -> dict[str, int]:
    mine = (each for each in report["budgets"] if each["namespace"] == ns.name)
    return {each["name"]: each["mostDown"] for each in mine}


async def stateful_groups(ns: NamespaceUnderTest, *names: str, **spec: object) -> dict[str, int]:
    """Groups of three pods, one on each node. What each needs."""
    for name in names:
        body = spread_stateful_set(name, 3, GROUP, {"app": "llm", "test": ns.name})
        body["spec"]["template"]["spec"] |= {
            key: dict.fromkeys(value, name) if isinstance(value, tuple) else value
            for key, value in spec.items()
        }
        await ns.create(STATEFUL_SETS, body)
    await ns.running(3 * len(names))
    return dict.fromkeys(names, 3)


async def test_groups_under_a_pub(ns: NamespaceUnderTest, tmp_path: Path) -> None:
    need = await stateful_groups(ns, "red", "blue", "green")
    policy = {"groupLabelKey": GROUP, "minReadyReplicas": 3}
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1}
    await ns.budget(spec | {"podGroupPolicy": policy}, total_replicas=3)
    code, report = await rehearsed(ns, tmp_path, "node-0")
    counts = {"budget": lambda state: len(groups_down(state, GROUP, need))}
    real_code, took, _, most, stuck = await drained(ns, counts, "node-0")
    assert (code, real_code) == (0, 0)
    assert most_down(report, ns) == most == {"budget": 1}
    assert {each["pod"] for each in report["never"]} == stuck == set()
    assert report["took"] == pytest.approx(took, rel=WITHIN)


@NEEDS_POD_GROUPS
async def test_pod_groups_under_a_labelled_pdb(
    ns: NamespaceUnderTest, groups: Groups, tmp_path: Path
) -> None:
    await groups.workload()
    for name in ("red", "blue", "green"):
        await groups.pod_group(name, 3)
    need = await stateful_groups(ns, "red", "blue", "green", schedulingGroup=("podGroupName",))
    await groups.budget(minAvailable=2)
    await groups.counted(allowed=1, healthy=3)
    code, report = await rehearsed(ns, tmp_path, "node-0")
    counts = {"llm": lambda state: len(groups_down(state, GROUP, need))}
    real_code, took, _, most, stuck = await drained(ns, counts, "node-0")
    assert (code, real_code) == (0, 0)
    assert most_down(report, ns) == most == {"llm": 1}
    assert {each["pod"] for each in report["never"]} == stuck == set()
    assert report["took"] == pytest.approx(took, rel=WITHIN)


def alone(name: str, labels: dict[str, str]) -> Json:
    """A Deployment with a pod on each node, and never two on one."""
    body = deployment(name, 3)
    template = body["spec"]["template"]
    template["metadata"]["labels"] = body["spec"]["selector"]["matchLabels"] | labels
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    template["spec"]["affinity"] = {"podAntiAffinity": affinity}
    template["spec"]["containers"][0]["readinessProbe"] = SLOW_PROBE
    return body


async def test_deployments_under_plain_pdbs_one_of_them_without_room(
    ns: NamespaceUnderTest, tmp_path: Path
) -> None:
    labels = {"test": ns.name}
    web = deployment("web", 6)
    web["spec"]["template"]["metadata"]["labels"] |= labels
    web["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = SLOW_PROBE
    await ns.create(DEPLOYMENTS, web)
    await ns.create(DEPLOYMENTS, alone("alone", labels))
    for name in ("web", "alone"):
        spec = {"selector": {"matchLabels": {"app": name}}, "maxUnavailable": 1}
        await ns.create(PDBS, {"metadata": {"name": name}, "spec": spec})
    await ns.running(9)
    code, report = await rehearsed(ns, tmp_path, "node-0", "node-1")

    def missing(name: str, wanted: int) -> Down:
        return lambda state: max(
            0, wanted - sum(each.startswith(f"{name}-") for each in available_in(state))
        )

    counts = {"web": missing("web", 6), "alone": missing("alone", 3)}
    real_code, took, last, most, stuck = await drained(
        ns, counts, "node-0", "node-1", timeout=f"{STUCK_AFTER}s"
    )
    assert (code, real_code) == (3, 1)
    assert most_down(report, ns) == most == {"web": 1, "alone": 1}
    assert {each["pod"] for each in report["never"]} == stuck
    assert len(stuck) == 1
    assert [each["why"] for each in report["never"]] == ["NoRoom"]
    [waiting] = report["unplaced"]
    assert "didn't match pod anti-affinity rules" in waiting["message"]
    assert took >= STUCK_AFTER > report["took"]
    mine = [each["at"] for each in report["pods"] if each["namespace"] == ns.name]
    assert max(mine) == pytest.approx(last, rel=WITHIN)
