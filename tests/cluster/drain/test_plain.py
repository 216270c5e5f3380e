"""`intact drain` on a cluster without Intact: plain PodDisruptionBudgets, and kubectl's rules."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from tests.support.intact_drain import drained, draining
from tests.support.namespace_under_test import NamespaceUnderTest, available_in, open_namespace
from tests.support.objects import (
    DEPLOYMENTS,
    NODES,
    PDBS,
    SLOW_PROBE,
    STATEFUL_SETS,
    deployment,
    stateful_set,
)
from tests.support.terminal import InTerminal


@pytest.fixture
def ns(
    cluster: Cluster, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    yield from open_namespace(cluster, runner, request)


async def web(ns: NamespaceUnderTest, replicas: int, node: str = "node-0") -> None:
    """Pods of a StatefulSet on one node, which may move on from there: only its first pods have to
    be on that node. A cordon of the others would reach the scheduler some time later."""
    body = stateful_set("web", replicas, podManagementPolicy="Parallel")
    body["spec"]["updateStrategy"] = {"type": "OnDelete"}
    template = body["spec"]["template"]
    template["metadata"]["labels"] |= {"test": ns.name}
    template["spec"]["containers"][0]["readinessProbe"] = SLOW_PROBE
    template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    await ns.create(STATEFUL_SETS, body)
    await ns.running(replicas)
    anywhere = {"spec": {"template": {"spec": {"nodeSelector": None}}}}
    await ns.client.patch(STATEFUL_SETS, anywhere, "web", ns.name)


async def protect(ns: NamespaceUnderTest, name: str = "web", **amount: Any) -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **amount}
    await ns.create(PDBS, {"metadata": {"name": name}, "spec": spec})

    def counted(found: dict[str, Any]) -> bool:
        status = found.get("status", {})
        return bool(status.get("expectedPods")) and status["currentHealthy"] > 0

    async with asyncio.timeout(60):
        while not counted(await ns.client.get(PDBS, name, ns.name)):
            await asyncio.sleep(0.05)


def command(ns: NamespaceUnderTest, *arguments: str) -> list[str]:
    intact = str(Path(sys.executable).with_name("intact"))
    options = (f"--pod-selector=test={ns.name}", f"--kubeconfig={ns.cluster.kubeconfig}")
    return [intact, "drain", *arguments, *options]


def said_by(ns: NamespaceUnderTest, text: str) -> str:
    return text.replace(ns.name, "NS")


async def test_a_plain_budget_is_followed_without_intact(ns: NamespaceUnderTest) -> None:
    await web(ns, 3)
    await protect(ns, maxUnavailable=1)
    async with ns.watched() as watched:
        code, said = await drained(ns, "node-0")
        assert code == 0, said
        assert await ns.on_node("node-0") == []
        await ns.running(3)
    assert (
        min(len(available_in(state) & {"web-0", "web-1", "web-2"}) for state in watched.states) == 2
    )
    lines = said_by(ns, said).splitlines()
    waiting = "waiting for pdb/web in NS: 2 of 3 pods are available, the budget requires 2"
    assert waiting in lines
    assert [line for line in lines if not line.startswith("waiting")] == [
        "node/node-0 cordoned",
        "evicting pod NS/web-0",
        "pod/web-0 evicted",
        "evicting pod NS/web-1",
        "pod/web-1 evicted",
        "evicting pod NS/web-2",
        "pod/web-2 evicted",
        "node/node-0 drained",
    ]


async def test_two_budgets_on_a_pod_are_explained(ns: NamespaceUnderTest) -> None:
    await web(ns, 1)
    await protect(ns, "one", maxUnavailable=1)
    await protect(ns, "two", maxUnavailable=1)
    code, said = await drained(ns, "node-0")
    assert code == 1, said
    assert said_by(ns, said).splitlines()[1] == (
        'error when evicting pods/"web-0" -n "NS": pdb/one and pdb/two cover it, and Kubernetes '
        "evicts no pod under more than one PodDisruptionBudget: delete one, or narrow its selector"
    )
    assert await ns.on_node("node-0") == ["web-0"]


async def test_a_bare_pod_keeps_all_others(ns: NamespaceUnderTest) -> None:
    await web(ns, 1)
    await ns.pods("bare", labels={"test": ns.name})
    refused = "cannot delete Pods that declare no controller (use --force to override)"
    code, said = await drained(ns, "node-0", "node-1")
    assert code == 1
    assert said_by(ns, said).splitlines() == [
        "node/node-0 cordoned",
        "node/node-1 cordoned",
        f"Error: {refused}: NS/bare",
    ]
    assert sorted(await ns.on_node("node-0")) == ["bare", "web-0"]
    terminal = InTerminal(120, 30)
    assert await terminal.run(command(ns, "node-0"), os.environ) == 1
    assert terminal.screen.lines[-1] == f"Error: {refused}: {ns.name}/bare"
    code, said = await drained(ns, "node-0", "--force")
    assert (code, await ns.on_node("node-0")) == (0, []), said
    assert "Warning: deleting Pods that declare no controller: NS/bare" in said_by(ns, said)


async def test_a_drain_that_is_not_done_in_time_says_what_blocks(ns: NamespaceUnderTest) -> None:
    await web(ns, 2)
    await protect(ns, minAvailable=2)
    code, said = await drained(ns, "node-0", "--timeout=2s", "--uncordon-on-failure")
    assert code == 3
    never = "it requires 2 of 2 pods: none can ever go; change the amount, or scale up"
    refused = "Cannot evict pod as it would violate the pod's disruption budget."
    lines = said_by(ns, said).splitlines()
    assert lines[:2] == ["node/node-0 cordoned", f"waiting for pdb/web in NS: {never}"]
    assert sorted(lines[2:4]) == sorted(
        [f"  NS/web-0 on node-0: {refused}", "  NS/web-1 on node-0: waits for pdb/web"]
    )
    assert lines[4:] == [
        "not drained in time: 2 pods left on node-0",
        f"pdb/web in NS: {never}",
        "node/node-0 uncordoned",
    ]
    assert "unschedulable" not in (await ns.client.get(NODES, "node-0"))["spec"]


async def test_a_budget_that_is_changed_lets_a_waiting_drain_go_on(ns: NamespaceUnderTest) -> None:
    await web(ns, 2)
    await protect(ns, minAvailable=2)
    async with draining(ns, "node-0", "-o", "json") as drain:
        await drain.says('"event": "waiting"')
        await ns.client.delete(PDBS, "web", ns.name)
        assert await drain.ended() == 0, drain.said
    events = drain.events
    kinds = [each["event"] for each in events]
    assert kinds[:2] == ["cordoned", "begun"]
    assert kinds.count("evicting") == kinds.count("evicted") == 2
    assert kinds[-1] == "ended"
    assert events[-1]["result"] == "drained"
    refused = next(each for each in events if each["event"] == "refused")
    assert refused["budget"] == "pdb/web"
    assert re.fullmatch(r"web-\d", refused["pod"])
    assert refused["node"] == "node-0"


async def test_a_terminal_shows_a_bar_and_what_is_waited_for(ns: NamespaceUnderTest) -> None:
    await web(ns, 2)
    await protect(ns, maxUnavailable=1)
    terminal = InTerminal(100, 30)
    assert await terminal.run(command(ns, "node-0"), os.environ) == 0, terminal.written
    assert "░" in terminal.written
    assert "waiting for pdb/web" in terminal.written
    assert terminal.screen.lines[0] == f"node-0  {'█' * 24}  2 of 2 pods gone, drained"
    assert re.fullmatch(r"\d+s so far", terminal.screen.lines[1])


async def test_dry_runs_change_nothing(ns: NamespaceUnderTest) -> None:
    await web(ns, 2)
    code, said = await drained(ns, "node-0", "--dry-run=client")
    assert (code, said_by(ns, said).splitlines()) == (
        0,
        [
            "node/node-0 cordoned (dry run)",
            "evicting pod NS/web-0 (dry run)",
            "evicting pod NS/web-1 (dry run)",
        ],
    )
    await protect(ns, minAvailable=2)
    code, said = await drained(ns, "node-0", "--dry-run=server")
    lines = said_by(ns, said).splitlines()
    assert (code, lines[0]) == (0, "node/node-0 cordoned (server dry run)")
    refused = (
        "would be refused now: Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert lines[1:] == [f"pod NS/web-0 {refused}", f"pod NS/web-1 {refused}"]
    assert sorted(await ns.on_node("node-0")) == ["web-0", "web-1"]
    assert "unschedulable" not in (await ns.client.get(NODES, "node-0"))["spec"]


async def test_a_rehearsal_foretells_the_drain(ns: NamespaceUnderTest) -> None:
    await web(ns, 2)
    await protect(ns, minAvailable=2)
    code, said = await drained(ns, "node-0", "--dry-run=rehearse")
    assert code == 3
    assert "drain does not go through" in said


async def test_nodes_are_selected_by_label_and_take_turns(ns: NamespaceUnderTest) -> None:
    body = deployment("web", 6)
    body["spec"]["template"]["metadata"]["labels"] |= {"test": ns.name}
    await ns.create(DEPLOYMENTS, body)
    await ns.running(6)
    for node in ("node-0", "node-1"):
        await ns.client.patch(NODES, {"metadata": {"labels": {"pool": ns.name}}}, node)
    code, said = await drained(ns, "-l", f"pool={ns.name}", "--parallel=1", "--pause-between=1s")
    assert code == 0, said
    lines = said.splitlines()
    assert lines[:2] == ["node/node-0 cordoned", "node/node-1 cordoned"]
    pause = lines.index("pausing for 1s before the next node")
    assert lines.index("node/node-0 drained") < pause < lines.index("node/node-1 drained")
    assert [*await ns.on_node("node-0"), *await ns.on_node("node-1")] == []
