"""`intact why` and `intact get` on a real Kubernetes with Intact: word for word, and the same
answer as the server's own."""

import asyncio
import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result

from intact.cli.main import main
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import UNREADY, NamespaceUnderTest, eventually
from tests.support.objects import DAEMON_SETS, PDBS, PODS, daemon_set, pod
from tests.support.pdb_groups import SCOPE

SELECTOR = {"matchLabels": {"app": "llm"}}
IN_GROUPS = {"podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 2}}
ONE = {"selector": SELECTOR, "maxUnavailable": 1}


async def run(ns: NamespaceUnderTest, *arguments: str) -> Result:
    options = ("--kubeconfig", str(ns.cluster.kubeconfig), "-n", ns.name)
    return await asyncio.to_thread(CliRunner().invoke, main, [*arguments, *options])


def normal(text: str, ns: NamespaceUnderTest) -> str:
    """Without names, ages and words that differ from run to run."""
    text = text.replace(ns.name, "NAMESPACE")
    text = re.sub(r"Unschedulable: .*", "Unschedulable: …", text)
    text = re.sub(r" {3,}(waits|may go|never)", r"   \1", text)
    return re.sub(r"\b\d+[smh](\d+[smh])?\b", "AGE", text)


async def shards(ns: NamespaceUnderTest, *, down: bool = True) -> None:
    """Three groups of two pods; of the first, one pod finds no node."""
    for shard in range(3):
        labels = {"app": "llm", "shard": f"shard-{shard}", "test": ns.name}
        names = [f"shard-{shard}-{number}" for number in range(2)]
        if shard or not down:
            await ns.pods(*names, labels=labels)
            continue
        await ns.pods(names[0], labels=labels)
        await lost(ns, names[1], labels)


async def lost(ns: NamespaceUnderTest, name: str, labels: dict[str, str]) -> None:
    """A pod that no node takes."""
    body = pod(name, labels=labels)
    body["spec"]["nodeSelector"] = {"nowhere": "true"}
    await ns.create(PODS, body)

    def is_refused(pods: dict[str, Any]) -> bool:
        said = pods[name].get("status", {}).get("conditions") or []
        return any(one.get("reason") == "Unschedulable" for one in said)

    await ns.until("the scheduler to refuse it", is_refused)


async def pdb(
    ns: NamespaceUnderTest, name: str = "llm", *, groups: bool = False, **spec: Any
) -> None:
    """A PodDisruptionBudget, once it is counted."""
    meta: dict[str, Any] = {"name": name}
    if groups:
        meta["labels"] = {SCOPE: "Workload"}
        meta["annotations"] = {
            "intact.dev/group-label-key": "shard",
            "intact.dev/min-ready-replicas": "2",
        }
    await ns.create(PDBS, {"metadata": meta, "spec": {"selector": SELECTOR, **spec}})

    async def look() -> Any:
        return await ns.client.get(PDBS, name, ns.name)

    def is_counted(found: Any) -> bool:
        annotations = found["metadata"].get("annotations") or {}
        seen = found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
        return bool(seen) and (not groups or "intact.dev/ledger" in annotations)

    await eventually(look, is_counted, f"pdb/{name} to be counted")


async def agrees(ns: NamespaceUnderTest) -> dict[str, str]:
    """The reasons of all pods; each verdict must be that of a dry run of an eviction."""
    found = json.loads((await run(ns, "get", "pods", "-o", "json")).stdout)["items"]
    for one in found:
        answer = await ns.evict(one["name"], dry_run="All")
        assert (answer.code < 400) == (one["verdict"] == "may go"), (one, answer)
    return {one["name"]: one["reason"] for one in found}


async def test_a_budget_in_groups(ns: NamespaceUnderTest) -> None:
    await shards(ns)
    await ns.budget(ONE | IN_GROUPS, "llm", current_available=2, desired_available=2)
    found = await run(ns, "why", "pod/shard-2-1")
    assert normal(found.output, ns) == (
        """\
pod shard-2-1 (node-0) belongs to group shard-2 (2 of 2 ready, needs 2)
  pub/llm   2 of 3 groups are available, the budget requires 2   waits
    shard-0 is down for AGE: shard-0-1 Pending, Unschedulable: …
It may go when shard-0 is ready again.
  to let it go now: kubectl annotate pod shard-2-1 -n NAMESPACE pub.kruise.io/no-protect=true
  note: it has no controller: it does not come back, and kubectl drain asks for --force
"""
    )
    assert found.exit_code == 3
    assert (await ns.evict("shard-2-1")).code == 429
    budget = await run(ns, "why", "pub/llm")
    assert re.sub(r"ago: .*(Pod shard-2-1) .*", r"ago: \1 …", normal(budget.output, ns)) == (
        """\
pub/llm counts groups: 2 of 3 available, 2 required, 0 may go now   waits
  GROUP    STATE      READY  NEED  SINCE  PODS
  shard-0  down       1/2    2     AGE     shard-0-0 (node-0), shard-0-1 (no node)
  shard-1  available  2/2    2     -      shard-1-0 (node-0), shard-1-1 (node-0)
  shard-2  available  2/2    2     -      shard-2-0 (node-0), shard-2-1 (node-0)
    shard-0 is down for AGE: shard-0-1 Pending, Unschedulable: …
It lets a group go when shard-0 is ready again.
refused lately:
  1 time, last AGE ago: Pod shard-2-1 …
"""
    )
    reasons = await agrees(ns)
    assert reasons == {
        "shard-0-0": "GroupUnavailable",
        "shard-0-1": "NotAvailable",
        **dict.fromkeys(("shard-1-0", "shard-1-1", "shard-2-0", "shard-2-1"), "BudgetExhausted"),
    }
    group = await run(ns, "why", "group/shard-0")
    assert normal(group.output, ns) == (
        """\
group shard-0 (1 of 2 ready, needs 2) is down for AGE
  shard-0-0  ready  node-0
  shard-0-1  down   -
  shard-0 is down for AGE: shard-0-1 Pending, Unschedulable: …
It may go now.
"""
    )
    # The command that it names lets the pod go.
    command = re.findall(r"kubectl (annotate .*)", found.output)[0].split()
    assert (await ns.kubectl(*command))[0] == 0
    assert (await run(ns, "why", "pod/shard-2-1")).exit_code == 0
    assert (await ns.evict("shard-2-1")).code == 201


async def test_a_node_and_lists(ns: NamespaceUnderTest) -> None:
    await shards(ns)
    await ns.budget(ONE | IN_GROUPS, "llm", current_available=2, desired_available=2)
    await pdb(ns, "llm-pods", minAvailable=3)
    node = await run(ns, "why", "node", "node-0")
    lines = normal(node.output, ns).splitlines()
    held = next(at for at, line in enumerate(lines) if line.startswith("  NAMESPACE pub/llm"))
    assert lines[held : held + 4] == [
        "  NAMESPACE pub/llm   2 of 3 groups are available, the budget requires 2   waits for AGE",
        "    holds 4 pods: shard-1-0, shard-1-1, shard-2-0, shard-2-1",
        "    shard-0 is down for AGE: shard-0-1 Pending, Unschedulable: …",
        "    They may go when shard-0 is ready again.",
    ]
    assert node.exit_code in (3, 4)
    budgets = await run(ns, "get", "budgets")
    assert [line.split()[:8] for line in budgets.output.splitlines()] == [
        ["NAME", "UNIT", "ALLOWED", "CURRENT", "DESIRED", "TOTAL", "DOWN", "WORKING"],
        ["pub/llm", "groups", "0", "2", "2", "3", "1", "True"],
        ["pdb/llm-pods", "pods", "2", "5", "3", "6", "1", "True"],
    ]
    groups = await run(ns, "get", "groups")
    assert [line.split()[:5] for line in groups.output.splitlines()] == [
        ["NAME", "BUDGET", "READY", "NEED", "STATE"],
        ["shard-0", "pub/llm", "1/2", "2", "down"],
        ["shard-1", "pub/llm", "2/2", "2", "available"],
        ["shard-2", "pub/llm", "2/2", "2", "available"],
    ]
    code, wide = await ns.kubectl("get", "pub", "-o", "wide")
    assert code == 0
    [heads, row] = [re.split(r"\s{2,}", line.strip()) for line in wide.splitlines()]
    assert heads[5:9] == ["GROUP LABEL", "DOWN", "WORKING", "SINCE"]
    assert row[5:8] == ["shard", "1", "True"]
    code, everything = await ns.kubectl("get", "intact", "-o", "name")
    assert (code, everything.strip()) == (0, "podunavailablebudget.policy.kruise.io/llm")


async def test_a_disruption_budget_in_groups(ns: NamespaceUnderTest) -> None:
    await shards(ns)
    await pdb(ns, groups=True, maxUnavailable=1)
    found = await run(ns, "why", "pod/shard-2-1")
    assert normal(found.output, ns) == (
        """\
pod shard-2-1 (node-0) belongs to group shard-2 (2 of 2 ready, needs 2)
  pdb/llm   2 of 3 groups are available, the budget requires 2   waits
    shard-0 is down for AGE: shard-0-1 Pending, Unschedulable: …
It may go when shard-0 is ready again.
  to let it go now: kubectl delete pod shard-2-1 -n NAMESPACE
  note: it has no controller: it does not come back, and kubectl drain asks for --force
"""
    )
    reasons = await agrees(ns)
    assert reasons["shard-0-0"] == "GroupUnavailable"
    assert reasons["shard-1-0"] == "BudgetExhausted"


async def test_a_pod_without_its_group(ns: NamespaceUnderTest) -> None:
    await shards(ns, down=False)
    await ns.pods("lone", labels={"app": "llm"})
    await pdb(ns, groups=True, maxUnavailable=1)
    reasons = await agrees(ns)
    assert reasons["lone"] == "GroupUnknown"
    assert reasons["shard-1-0"] == "Budget"


async def test_a_need_that_no_group_reaches(ns: NamespaceUnderTest) -> None:
    await ns.pods("a-0", "a-1", labels={"app": "llm", "shard": "a"})
    await pdb(ns, groups=True, maxUnavailable=1)
    patch = {"metadata": {"annotations": {"intact.dev/min-ready-replicas": "3"}}}
    await ns.client.patch(PDBS, patch, "llm", ns.name)

    async def reason() -> Any:
        return json.loads((await run(ns, "why", "pod/a-0", "-o", "json")).stdout)["reason"]

    await eventually(reason, lambda found: found == "NeedNotReached", "the need to be judged")
    await agrees(ns)


async def test_budgets_that_never_allow(ns: NamespaceUnderTest) -> None:
    await shards(ns, down=False)
    await ns.budget({"selector": SELECTOR, "maxUnavailable": 0}, "never", total_replicas=6)
    found = await run(ns, "why", "pod/shard-0-0")
    assert found.exit_code == 4
    assert "pub/never   maxUnavailable is 0: no pod can ever go" in found.output
    assert set((await agrees(ns)).values()) == {"NeverAllows"}


async def test_two_budgets_on_one_pod(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", labels={"app": "llm"})
    await pdb(ns, "one", minAvailable=1)
    await pdb(ns, "two", minAvailable=1)
    found = await run(ns, "why", "pod/a")
    assert (found.exit_code, found.output.count("has two PodDisruptionBudgets   never")) == (4, 2)
    assert set((await agrees(ns)).values()) == {"TwoBudgets"}


async def test_a_plain_budget_and_its_unhealthy_policy(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", labels={"app": "llm"})
    await ns.pods("bad", labels={"app": "llm"}, annotations={UNREADY: "true"})
    await ns.until("it to run", lambda pods: pods["bad"]["status"].get("phase") == "Running")
    await pdb(ns, minAvailable=3)
    assert await agrees(ns) == {"a": "NeverAllows", "b": "NeverAllows", "bad": "NeverAllows"}
    await ns.pods("c", labels={"app": "llm"})
    await ns.client.patch(PDBS, {"spec": {"minAvailable": 4}}, "llm", ns.name)
    await ns.pods("d", labels={"app": "llm"}, annotations={UNREADY: "true"})
    await ns.until("it to run", lambda pods: pods["d"]["status"].get("phase") == "Running")

    async def counts() -> Any:
        status = (await ns.client.get(PDBS, "llm", ns.name))["status"]
        return status["expectedPods"], status["currentHealthy"], status["observedGeneration"]

    await eventually(counts, lambda found: found == (5, 3, 2), "five pods to be counted")
    assert await agrees(ns) == {
        **dict.fromkeys(("a", "b", "c"), "BudgetExhausted"),
        "bad": "BudgetUnhealthy",
        "d": "BudgetUnhealthy",
    }


async def test_pods_that_go_or_that_drains_leave(ns: NamespaceUnderTest) -> None:
    await ns.pods("held", finalizers=["example.com/x"])
    await ns.client.delete(PODS, "held", ns.name)
    found = await run(ns, "why", "pod/held")
    assert "it is being deleted, and the finalizer example.com/x holds it   waits" in found.output
    assert found.exit_code == 3
    await ns.create(DAEMON_SETS, daemon_set("agent"))
    name = (await ns.running(3))[0]
    left = await run(ns, "why", f"pod/{name}")
    assert "a pod of the DaemonSet agent: drains leave it" in left.output
    assert left.exit_code == 4
    await ns.client.patch(PODS, {"metadata": {"finalizers": None}}, "held", ns.name)


async def test_an_intact_that_is_down(
    ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact
) -> None:
    await shards(ns, down=False)
    await ns.budget(ONE | IN_GROUPS, "llm", current_available=3)
    assert (await run(ns, "why", "pod/shard-0-0")).exit_code == 0
    await asyncio.to_thread(intact_cluster.stop)
    found = await run(ns, "why", "pod/shard-0-0")
    assert "Intact seems to be down" in found.output
    assert f"kubectl label namespace {ns.name} intact.dev/gated-" in found.output
    assert found.exit_code == 3
    assert (await ns.evict("shard-0-0")).code == 500


@pytest.mark.parametrize("what", ["pod/nope", "pub/nope", "group/nope", "node/nope"])
async def test_what_is_not_there(ns: NamespaceUnderTest, what: str) -> None:
    found = await run(ns, "why", what)
    kind = what.partition("/")[0]
    assert found.exit_code == 1
    assert found.stderr.startswith(f'Error: there is no {kind} "nope"')
