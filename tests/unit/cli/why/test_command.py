"""`intact why` against an API server: what it reads, what it says, and its exit codes."""

import json
from pathlib import Path

import yaml

from tests.support.objects import NODES, PODS
from tests.support.pictures import group, node, pdb, pod, pub
from tests.support.rbg_waiting import GROUPS
from tests.unit.cli.inhabited import inhabited
from tests.unit.cli.rbg.seen import seen


async def test_a_pod_under_a_plain_budget_without_intact(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("web-0"), pdbs=[pdb()]) as cluster:
        found = await cluster.run("why", "pod/web-0")
        spelled = await cluster.run("why", "po", "web-0")
    assert found.output == spelled.output
    assert found.output == (
        """\
pod web-0 (node-0) is ready
  pdb/llm-pods   3 of 4 pods are available, the budget requires 3   waits
It may go when 1 more pod is ready.
  to let it go now: kubectl delete pod web-0 -n llm
"""
    )
    assert found.exit_code == 3


async def test_a_pod_under_a_budget_in_groups(tmp_path: Path) -> None:
    async with inhabited(tmp_path, *group("s"), pubs=[pub(allowed=1)], intact=True) as cluster:
        cluster.forbidden.add("leases")
        found = await cluster.run("why", "pod/s-0", "-o", "json")
    document = json.loads(found.output)
    assert (found.exit_code, document["exitCode"], document["verdict"]) == (0, 0, "may go")
    assert document["budgets"][0]["budget"] == "pub/llm"


async def test_an_intact_without_a_lease_is_down(tmp_path: Path) -> None:
    async with inhabited(tmp_path, *group("s"), pubs=[pub(allowed=1)], intact=True) as cluster:
        found = await cluster.run("why", "pod/s-0")
    assert "Intact seems to be down" in found.output
    assert found.exit_code == 3


async def test_budgets_groups_nodes_and_rbgs(tmp_path: Path) -> None:
    async with inhabited(tmp_path, *group("s"), pubs=[pub()], pdbs=[pdb()], intact=True) as cluster:
        cluster.forbidden.add("leases")
        await cluster.client.create(NODES, {"metadata": {"name": node().metadata.name}})
        await cluster.put(GROUPS, seen())
        answers = {
            what: await cluster.run("why", what)
            for what in ("pub/llm", "pdb/llm-pods", "group/s", "node/node-0", "rbg/llm")
        }
    assert {what: found.exit_code for what, found in answers.items()} == {
        "pub/llm": 3,
        "pdb/llm-pods": 3,
        "group/s": 3,
        "node/node-0": 3,
        "rbg/llm": 0,
    }
    assert answers["node/node-0"].output.startswith("node node-0 (not ready) has 2 pods: 2 wait\n")
    assert answers["rbg/llm"].output.endswith("It has no pods.\n")


async def test_what_is_not_there_is_said_with_where_it_is(tmp_path: Path) -> None:
    async with inhabited(
        tmp_path, pod("web-0"), *group("s"), pdbs=[pdb()], pubs=[pub()], intact=True
    ) as cluster:
        await cluster.namespace("other")
        said = {
            what: await cluster.run("why", what, namespace="other")
            for what in ("pod/web-0", "pod/x", "pdb/llm-pods", "group/s", "group/x", "node/x")
        }
        nowhere = await cluster.run("why", "pod/web-0", namespace="nowhere")
    assert {what: found.stderr for what, found in said.items()} == {
        "pod/web-0": (
            'Error: there is no pod "web-0" in namespace "other"; there is one in llm (-n)\n'
        ),
        "pod/x": 'Error: there is no pod "x" in namespace "other"\n',
        "pdb/llm-pods": (
            'Error: there is no pdb "llm-pods" in namespace "other"; there is one in llm (-n)\n'
        ),
        "group/s": 'Error: there is no group "s" in namespace "other"; there is one in llm (-n)\n',
        "group/x": 'Error: there is no group "x" in namespace "other"\n',
        "node/x": 'Error: there is no node "x"\n',
    }
    assert {found.exit_code for found in said.values()} == {1}
    assert nowhere.stderr == 'Error: namespace "nowhere" does not exist\n'


async def test_a_kind_of_intact_that_is_not_installed(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        found = await cluster.run("why", "pub/llm")
    assert found.exit_code == 1
    assert "the cluster has no kind PodUnavailableBudget" in found.stderr


async def test_a_user_who_may_not_read_everything_is_told_what(tmp_path: Path) -> None:
    webhooks = "validatingwebhookconfigurations"
    async with inhabited(tmp_path, pod("web-0"), pdbs=[pdb()]) as cluster:
        cluster.forbidden |= {webhooks, "events", "nodes"}
        held = await cluster.run("why", "pod/web-0")
        budget = await cluster.run("why", "pdb/llm-pods", "-o", "yaml")
        cluster.forbidden.add("poddisruptionbudgets")
        unsure = await cluster.run("why", "pod/web-0")
        cluster.forbidden.add("pods")
        nothing = await cluster.run("why", "pod/web-0")
    assert f"not read: {webhooks}.admissionregistration.k8s.io (forbidden)" in held.output
    assert held.exit_code == 3
    assert yaml.safe_load(budget.output)["unreadable"]["events"]
    assert "Whether it may go is not known" in unsure.output
    assert unsure.exit_code == 1
    assert nothing.exit_code == 1
    assert nothing.stderr.startswith("Error: ")


async def test_what_is_not_clear_is_an_error_of_usage(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        found = await cluster.run("why", "deploy/web")
    assert found.exit_code == 2
    assert "'deploy' is none of the types that why knows" in found.stderr


async def test_control_characters_in_messages_of_others_do_no_harm(tmp_path: Path) -> None:
    sync = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}
    evil = pdb(expected=0, conditions=[{**sync, "message": "a\x1b[2Jb"}])
    async with inhabited(tmp_path, pod("web-0"), pdbs=[evil]) as cluster:
        found = await cluster.run("why", "pod/web-0")
    assert "a [2Jb" in found.output
    assert found.exit_code == 4


async def test_a_pod_that_is_being_deleted_on_a_node(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "finalizers": ["example.com/x"]},
            "spec": {"nodeName": "gone", "containers": [{"name": "m", "image": "i"}]},
        }
        await cluster.client.create(PODS, body, "llm")
        await cluster.client.delete(PODS, "a", "llm")
        found = await cluster.run("why", "pod/a")
    assert "it is being deleted, and the finalizer example.com/x holds it   waits" in found.output
    assert found.exit_code == 3
