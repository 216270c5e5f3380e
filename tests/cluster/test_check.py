"""`intact check` on a real Kubernetes: a healthy Intact, one in trouble, none; budgets with
findings; and as a plugin of kubectl."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from devcluster import pins
from devcluster.cluster import Cluster
from intact.cli.main import main
from intact.kube.client import Client
from intact.kube.resources import PUBS, untyped
from intact.operator.webhook.configuration import MUTATING, NAME, VALIDATING
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import (
    DAEMON_SETS,
    DEPLOYMENTS,
    PDBS,
    STATEFUL_SETS,
    Json,
    daemon_set,
    deployment,
    stateful_set,
)
from tests.support.pub_cases import budget

RAW = untyped(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
LWS = "leaderworkerset.sigs.k8s.io"
SERVER = pins.patch_of(pins.chosen_version())
OUTSIDE = "there is no Deployment: Intact runs outside of the cluster"


async def run(cluster: Cluster, *arguments: str) -> Result:
    given = ["check", "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return await asyncio.to_thread(CliRunner().invoke, main, given)


def golden(text: str, ns: NamespaceUnderTest) -> list[str]:
    """What differs from run to run, under names that do not."""
    text = text.replace(ns.name, "NS")
    text = re.sub(r"\S+_\d+_[0-9a-f]{8}", "HOLDER", text)
    text = re.sub(r"\bweb-[0-9a-f]+-\w{5}\b", "web-POD", text)
    text = re.sub(r"\beach-\w{5}\b", "each-POD", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)
    text = re.sub(r"an eviction in [\w-]+", "an eviction in GATED", text)
    text = re.sub(r" and a status of \S+ in [\w-]+", "", text)
    return text.splitlines()


def installation(text: str, ns: NamespaceUnderTest) -> dict[str, str]:
    """The lines by their name."""
    head = "\n".join(golden(text, ns)).partition("\n\n")[0]
    found = [re.split(r" {2,}", line, maxsplit=2) for line in head.splitlines()]
    return {name: f"{state} {message}" for state, name, message in found}


HEALTHY = {
    "server version": f"OK {SERVER}",
    "definitions": (
        "OK podunavailablebudgets v1alpha1, v1beta1, rolebasedgroups v1alpha1, "
        "rolebasedgroupscalingadapters v1alpha1"
    ),
    "replicas": f"SKIP {OUTSIDE}",
    "leader": "OK HOLDER holds the Lease default/intact and renews it",
    "versions": f"SKIP {OUTSIDE}",
    "webhooks": "OK 13 are registered, of the controllers pub, pdb, rbg",
    "gate": "OK Intact answers dry runs of a new budget and an eviction in GATED",
    "certificate": "OK the CA is valid until DATE",
    "rights": "SKIP there are no roles of Intact: it runs with an account of its own",
    "other webhooks": "OK none of 0 can hold up Intact",
}


async def workload(ns: NamespaceUnderTest, name: str = "web", replicas: int = 3) -> None:
    await ns.create(DEPLOYMENTS, deployment(name, replicas))
    await ns.running(replicas)


def covering(name: str = "web", **amounts: Any) -> Json:
    return {"selector": {"matchLabels": {"app": name}}, **amounts}


async def test_a_healthy_installation(ns: NamespaceUnderTest) -> None:
    await workload(ns)
    await ns.budget(covering(maxUnavailable=1), total_replicas=3)
    before = await ns.status()
    result = await run(ns.cluster, "-n", ns.name)
    assert installation(result.output, ns) == HEALTHY
    assert golden(result.output, ns)[-2:] == ["", "1 budget: nothing found"]
    assert result.exit_code == 0
    # A dry run changes nothing.
    assert await ns.status() == before


async def test_a_leader_that_was_killed_and_its_successor(
    ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact
) -> None:
    leader, follower = intact_cluster.leader(), intact_cluster.follower()
    # Stopped, it cannot take over while the check looks.
    follower.process.send_signal(signal.SIGSTOP)
    leader.kill()
    result = await run(ns.cluster, "-n", ns.name)
    found = installation(result.output, ns)
    assert found["leader"] == (
        "FAIL HOLDER holds the Lease default/intact and has not renewed it for 10 s: nothing is "
        "counted until another replica takes over"
    )
    assert result.exit_code == 4
    follower.process.send_signal(signal.SIGCONT)
    result = await run(ns.cluster, "-n", ns.name, "--wait", "2m")
    assert installation(result.output, ns)["leader"] == HEALTHY["leader"]
    assert result.exit_code == 0, result.output


async def test_a_webhook_configuration_that_was_deleted(
    ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact
) -> None:
    for operator in intact_cluster.operators:
        operator.process.send_signal(signal.SIGSTOP)
    await ns.client.delete(VALIDATING, NAME)
    result = await run(ns.cluster, "-n", ns.name)
    found = installation(result.output, ns)
    assert found["webhooks"] == (
        f"FAIL the {VALIDATING.kind} {NAME} does not exist: the leader registers it"
    )
    assert found["gate"] == "FAIL a dry run of a new budget: the API server does not ask Intact"
    assert result.exit_code == 4
    for operator in intact_cluster.operators:
        operator.process.send_signal(signal.SIGCONT)
    result = await run(ns.cluster, "-n", ns.name, "--wait", "2m")
    assert result.exit_code == 0, result.output
    assert installation(result.output, ns)["webhooks"] == HEALTHY["webhooks"]


@asynccontextmanager
async def foreign_webhook(client: Client, port: int) -> AsyncIterator[None]:
    """One that fails closed on evictions and on new budgets, and that nobody answers."""
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE"],
            "resources": [resource],
        }
        for group, resource in (("", "pods/eviction"), ("policy.kruise.io", "*"))
    ]
    webhook = {
        "name": "theirs.example.test",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
        "rules": rules,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await client.create(RAW, {"metadata": {"name": "theirs"}, "webhooks": [webhook]})
    try:
        yield
    finally:
        await client.delete(RAW, "theirs")


async def test_a_webhook_of_others_that_fails_closed(ns: NamespaceUnderTest) -> None:
    # Port 1 is not listened on.
    async with foreign_webhook(ns.client, 1):

        async def look() -> dict[str, str]:
            return installation((await run(ns.cluster, "-n", ns.name)).output, ns)

        # A new registration takes effect after a moment.
        found = await eventually(look, lambda lines: "FAIL" in lines["gate"], "the failing gate")
        assert found["gate"].startswith(
            "FAIL a dry run of a new budget: Internal error occurred: failed calling webhook "
            '"theirs.example.test"'
        )
        assert found["other webhooks"] == (
            "FAIL theirs.example.test (MutatingWebhookConfiguration theirs) is asked about "
            "pods/eviction and fails closed: the API server cannot call it, and Intact is held up"
        )


FINDINGS = """\
warning: PodDisruptionBudget NS/a-none: spec.selector selects app=nothing, and no pod of the \
namespace has that: the budget protects nothing
    Compare it with the labels of the pods: kubectl get pods --show-labels. [IB201 no-pods]
error: PodDisruptionBudget NS/b-never: minAvailable is 3: the budget requires 3 of 3 pods to stay, \
so none can ever go
    Change the amount, or scale up: as it is, a drain of a node with its pods never ends. \
[IB101 never-allows]
error: PodDisruptionBudget NS/c-again: pdb/b-never and pdb/c-again select the same pods: the API \
server refuses to evict them (500), and a drain never ends: web-POD, web-POD, web-POD
    Keep one of them, or make the selectors disjoint. [IB401 two-pdbs]
warning: PodDisruptionBudget NS/d-one: maxUnavailable is 1 and there is one pod: it may go at any \
time, and nothing is held
    Scale up to two or more; a budget cannot protect a single replica. [IB102 one-replica]
error: PodDisruptionBudget NS/e-each: the pods cannot be counted, so that none can go: \
daemonsets.apps does not implement the scale subresource
    Set minAvailable to a number in place of maxUnavailable or a percentage. [IB105 total-unknown]
warning: PodDisruptionBudget NS/f-llm: the budget counts pods (minAvailable 2), and its pods serve \
in groups of 2: one pod that goes breaks a whole group (llm-0, llm-1)
    With Intact, set the label intact.dev/budget-scope: Workload; then the amounts count groups. \
[IB301 counts-pods-of-groups]
error: PodUnavailableBudget NS/aimed: spec.targetRef names the Deployment wbe: there is none of \
that name; the budget protects nothing
    Correct apiVersion, kind or name, or use a selector. [IB203 unknown-target]
7 budgets: 4 errors, 3 warnings
"""


async def test_budgets_with_findings(ns: NamespaceUnderTest) -> None:
    await workload(ns)
    await ns.create(STATEFUL_SETS, stateful_set("one", 1))
    await ns.running(4)
    await ns.create(DAEMON_SETS, daemon_set("each"))
    await ns.running(7)
    for name, group in {"llm-0": "llm-0", "llm-0-1": "llm-0", "llm-1": "llm-1"}.items():
        labels = {"app": "llm", f"{LWS}/name": "llm", f"{LWS}/group-key": group}
        await ns.pods(name, labels=labels, annotations={f"{LWS}/size": "2"})
    for name, spec in {
        "a-none": covering("nothing", maxUnavailable=1),
        "b-never": covering(minAvailable=3),
        "c-again": covering(maxUnavailable=1),
        "d-one": covering("one", maxUnavailable=1),
        "e-each": covering("each", maxUnavailable=1),
        "f-llm": covering("llm", minAvailable=2),
    }.items():
        await ns.create(PDBS, {"metadata": {"name": name}, "spec": spec})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "wbe"}
    await ns.create(PUBS, budget({"maxUnavailable": 1, "targetRef": target}, "aimed"))

    async def look() -> Result:
        return await run(ns.cluster, "-n", ns.name)

    # First the budgets must have been counted, by Intact and by kube-controller-manager.
    def counted(found: Result) -> bool:
        return "IB502" not in found.output and "scale subresource" in found.output

    result = await eventually(look, counted, "all budgets to be counted")
    shown = "\n".join(golden(result.output, ns)).partition("\n\n")[2]
    assert shown.splitlines() == FINDINGS.splitlines()
    assert result.exit_code == 4
    found = json.loads((await run(ns.cluster, "-n", ns.name, "-o", "json")).output)
    assert [each["code"] for each in found["findings"]] == re.findall(r"\[(IB\d+) ", FINDINGS)


async def test_without_intact(ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact) -> None:
    await workload(ns)
    intact_cluster.stop()
    for resource in (VALIDATING, MUTATING):
        await ns.client.delete(resource, NAME)
    await ns.create(PDBS, {"metadata": {"name": "web"}, "spec": covering(maxUnavailable=1)})
    await eventually(
        lambda: run(ns.cluster, "-n", ns.name),
        lambda found: "IB502" not in found.output,
        "kube-controller-manager to count the budget",
    )
    result = await run(ns.cluster, "-n", ns.name)
    assert golden(result.output, ns) == [
        f"OK    server version  {SERVER}",
        "SKIP  Intact          it is not installed: only plain PodDisruptionBudgets are held",
        "",
        "1 budget: nothing found",
    ]
    assert result.exit_code == 0
    await ns.create(PUBS, budget(covering(maxUnavailable=1), "held"))
    result = await run(ns.cluster, "-n", ns.name)
    told = [line for line in golden(result.output, ns) if "NS/held: " in line]
    why = "Intact is not installed here: nothing holds this budget"
    assert told == [f"error: PodUnavailableBudget NS/held: {why}"]
    assert "[IB501 needs-intact]" in result.output
    assert result.exit_code == 4


@pytest.fixture
def plugin_path(tmp_path: Path) -> Path:
    """A directory with the command that the package installs as `kubectl-intact`."""
    command = tmp_path / "bin" / "kubectl-intact"
    command.parent.mkdir()
    code = "from intact.cli.main import plugin; plugin()"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    command.chmod(0o755)
    return command.parent


async def kubectl(cluster: Cluster, path: Path, *arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        str(cluster.kubectl),
        *arguments,
        env=os.environ
        | {"PATH": f"{path}:{os.environ['PATH']}", "KUBECONFIG": str(cluster.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_kubectl_finds_the_plugin(ns: NamespaceUnderTest, plugin_path: Path) -> None:
    code, said = await kubectl(ns.cluster, plugin_path, "plugin", "list")
    assert code == 0
    assert str(plugin_path / "kubectl-intact") in said
    code, said = await kubectl(ns.cluster, plugin_path, "intact", "--help")
    assert (code, said.splitlines()[0]) == (0, "Usage: kubectl intact [OPTIONS] COMMAND [ARGS]...")


async def test_kubectl_intact_checks_and_passes_the_exit_code_on(
    ns: NamespaceUnderTest, plugin_path: Path
) -> None:
    code, said = await kubectl(ns.cluster, plugin_path, "intact", "check", "-n", ns.name)
    assert code == 0, said
    assert golden(said, ns)[-1] == "0 budgets: nothing found"
    await ns.create(PDBS, {"metadata": {"name": "web"}, "spec": covering(maxUnavailable=0)})
    code, said = await kubectl(ns.cluster, plugin_path, "intact", "check", f"-n={ns.name}")
    assert code == 4
    assert "[IB101 never-allows]" in said
