"""RoleBasedGroups by hand, on a real cluster: the commands as a person types them, and kubectl."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from intact.kube.resources import untyped
from intact.operator.install.crds import definitions
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import Json
from tests.support.rbg_objects import group, kind, role, rolling, template
from tests.support.rbg_rollout import intact
from tests.support.rbg_waiting import (
    GROUPS,
    STATEFUL_SETS,
    change,
    completed,
    group_settled,
    group_until,
    role_pods,
)
from tests.support.terminal import InTerminal

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
VALIDATING = untyped(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
UNREADY = {"metadata": {"annotations": {"devcluster.intact.dev/unready": "true"}}}
NAMED = ("status", "undo", "plan", "pause")
"""One command of each sort; unit tests have them all."""


def trio(**spec: Any) -> Json:
    """Two coordinated roles, and one that updates by itself."""
    return group(
        "llm",
        role("prefill", 4),
        role("decode", 4),
        role("router", 1, **kind("Deployment")),
        coordination=[rolling("prefill", "decode", maxUnavailableRatio="50%", maxSkew="50%")],
        **spec,
    )


def update(image: str, *roles: int, **rest: Json) -> list[Json]:
    value = {**template(image), **rest}
    return [
        {"op": "replace", "path": f"/spec/roles/{at}/template", "value": value}
        for at in roles or (0, 1)
    ]


async def images(ns: NamespaceUnderTest, name: str) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in await role_pods(ns, name)}


async def shows_only(ns: NamespaceUnderTest, name: str, image: str) -> None:
    """The last pods of another image may still be terminating."""
    await eventually(lambda: images(ns, name), lambda found: found == {image}, f"{image} only")


async def said_by(ns: NamespaceUnderTest, *arguments: str, code: int = 0) -> str:
    found, said = await intact(ns, "rbg", *arguments)
    assert found == code, said
    return said


async def test_a_rollout_by_hand_from_the_first_look_to_the_undo(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, trio())
    await said_by(ns, "status", "llm", "-w")
    head, line = (await said_by(ns, "status")).splitlines()
    assert head.split() == ["NAME", "STATUS", "READY", "UPDATED", "COORDINATION", "AGE"]
    assert line.split()[:5] == ["llm", "Done", "9/9", "9/9", "Completed"]
    # Its exit code is that of the most urgent group: one of another test may be on its way out.
    _, everywhere = await intact(ns, "rbg", "status", "-A", "-o", "json")
    assert [ns.name, "llm"] in [
        [one["namespace"], one["name"]] for one in json.loads(everywhere)["items"]
    ]

    said = await said_by(ns, "pause", "rbg/llm")
    assert "prefill, decode do not move to another revision" in said
    assert "Warning: this does not hold router" in said
    assert "is paused already" in await said_by(ns, "pause", "llm")
    await change(ns, update("engine:2", 0, 1, 2))
    said = await said_by(ns, "status", "llm", "-w", code=5)
    assert "paused" in said
    await shows_only(ns, "router", "engine:2")
    assert await images(ns, "prefill") | await images(ns, "decode") == {"engine:1"}
    paused = yaml.safe_load(await said_by(ns, "status", "llm", "-o", "yaml", code=5))
    assert (paused["paused"], paused["standing"]) == (True, "Paused")
    assert "`intact rbg resume llm` first" in await said_by(ns, "restart", "llm", code=1)

    assert await said_by(ns, "resume", "llm") == f"RoleBasedGroup {ns.name}/llm is resumed\n"
    await said_by(ns, "status", "llm", "-w")
    await group_until(ns, "llm", completed, "the rollout to be completed")
    for name in ("prefill", "decode"):
        await shows_only(ns, name, "engine:2")

    before = {pod["metadata"]["uid"] for pod in await role_pods(ns, "prefill")}
    said = await said_by(ns, "restart", "llm", "--role", "decode")
    assert said == f"RoleBasedGroup {ns.name}/llm restarts decode\n"
    await said_by(ns, "status", "llm", "-w")
    pods = await role_pods(ns, "decode")
    assert {RESTARTED_AT in pod["metadata"]["annotations"] for pod in pods} == {True}
    assert {pod["metadata"]["uid"] for pod in await role_pods(ns, "prefill")} == before

    items = json.loads(await said_by(ns, "history", "llm", "-o", "json"))["items"]
    new = "engine:1 → engine:2"
    assert [(one["revision"], one["changed"]) for one in items[1:]] == [
        (2, {"prefill": new, "decode": new, "router": new}),
        (3, {"decode": "restarted"}),
    ]
    assert [(one["current"], one["update"]) for one in items] == [(False, False)] * 2 + [
        (True,) * 2
    ]
    stored = yaml.safe_load(await said_by(ns, "history", "llm", "--revision", "1"))
    assert stored["roles"]["prefill"]["template"]["spec"]["containers"][0]["image"] == "engine:1"

    assert "goes back to revision 1 " in await said_by(ns, "undo", "llm", "--to-revision", "1")
    await said_by(ns, "status", "llm", "-w")
    for name in ("prefill", "router"):
        await shows_only(ns, name, "engine:1")
    table = (await said_by(ns, "history", "llm")).splitlines()
    assert table[-1].split()[0] == "4"
    assert "current, update" in table[-1]

    code, kubectl = await ns.kubectl("get", "rbg", "llm", "-o", "name")
    assert code == 0
    assert await said_by(ns, "status", kubectl.strip(), "-o", "name") == kubectl


@asynccontextmanager
async def edited_all_the_time(ns: NamespaceUnderTest) -> AsyncGenerator[None, None]:
    """As the operator does with the status while a rollout moves."""

    async def edit() -> None:
        number = 0
        while True:
            number += 1
            body = {"metadata": {"annotations": {"test/number": str(number)}}}
            await ns.client.patch(GROUPS, body, "llm", ns.name)

    editing = asyncio.create_task(edit())
    try:
        yield
    finally:
        editing.cancel()
        with suppress(asyncio.CancelledError):
            await editing


async def test_commands_retry_while_others_write(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, trio())
    await group_settled(ns)
    await change(ns, update("engine:2", 0, 1, 2))
    await group_settled(ns)
    async with edited_all_the_time(ns):
        for number in range(3):
            wanted = 1 if number % 2 == 0 else 2
            said = await said_by(ns, "undo", "llm")
            assert "goes back to revision" in said
            found = await ns.client.get(GROUPS, "llm", ns.name)
            [image] = {
                one["template"]["spec"]["containers"][0]["image"] for one in found["spec"]["roles"]
            }
            assert image == f"engine:{wanted}"
            # The present templates become the newest revision, from which the next undo goes back.
            await group_until(
                ns,
                "llm",
                lambda one: one.status.observed_generation == one.metadata.generation,
                "Intact to have seen it",
            )
        await said_by(ns, "pause", "llm")
        await said_by(ns, "resume", "llm")
        await said_by(ns, "restart", "llm")


async def test_a_wrong_namespace_and_a_wrong_name_are_named(ns: NamespaceUnderTest) -> None:
    name = "known-here-only"
    await ns.create(GROUPS, group(name, role("decode", 1)))
    for command in NAMED:
        [line] = (await said_by(ns, command, "nope", code=1)).splitlines()
        assert line == f'Error: there is no RoleBasedGroup "nope" in namespace "{ns.name}"'
        said = await said_by(ns, command, "", code=2)
        assert "'' is empty: it must be the name of a RoleBasedGroup" in said
    options = (f"--kubeconfig={ns.cluster.kubeconfig}", "-n")
    for given in (*(("rbg", each, "llm") for each in NAMED), ("rbg", "status")):
        code, said = await run(*given, *options, "nowhere")
        assert (code, said) == (1, 'Error: namespace "nowhere" does not exist\n')
    code, said = await run("rbg", "status", name, *options, "default")
    assert code == 1
    assert f'in namespace "default"; there is one in {ns.name} (-n)' in said


async def run(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_users_without_rights_are_told_which(ns: NamespaceUnderTest, tmp_path: Path) -> None:
    await ns.create(GROUPS, trio())
    await group_settled(ns)
    code, token = await ns.kubectl("create", "token", "default")
    assert code == 0
    kubeconfig = write_kubeconfig(
        ns.cluster, tmp_path / "kubeconfig", namespace=ns.name, user={"token": token.strip()}
    )
    user = f"system:serviceaccount:{ns.name}:default"
    for command in (*((each, "llm") for each in NAMED), ("status",), ("status", "-A")):
        code, said = await run("rbg", *command, f"--kubeconfig={kubeconfig}")
        assert code == 1
        [line] = said.splitlines()
        assert line.startswith("Error: you may not do that (403): rolebasedgroups.workloads.x-k8s")
        assert user in line

    rules = ("--verb=get,list,watch", "--resource=rolebasedgroups.workloads.x-k8s.io")
    await ns.kubectl("create", "role", "reader", *rules)
    account = f"--serviceaccount={ns.name}:default"
    await ns.kubectl("create", "rolebinding", "reader", "--role=reader", account)

    async def status() -> tuple[int, str]:
        return await run("rbg", "status", "llm", f"--kubeconfig={kubeconfig}")

    # Without ControllerRevisions the revision has no number.
    found = await eventually(status, lambda found: found[0] == 0, "the right to read")
    assert re.search(r"^revision llm-[0-9a-f]{10}$", found[1], re.MULTILINE)
    code, said = await run("rbg", "pause", "llm", f"--kubeconfig={kubeconfig}")
    assert code == 1
    assert 'cannot patch resource "rolebasedgroups"' in said
    code, said = await run("rbg", "history", "llm", f"--kubeconfig={kubeconfig}")
    assert code == 1
    assert 'cannot list resource "controllerrevisions"' in said


async def test_a_cluster_without_the_kind_is_named() -> None:
    without = ("kube-controller-manager", "kube-scheduler", "kwok")
    with Cluster(nodes=0, without=without) as bare:
        for command in (*((each, "llm") for each in NAMED), ("status",), ("status", "-A")):
            code, said = await run("rbg", *command, f"--kubeconfig={bare.kubeconfig}")
            assert code == 1
            [line] = said.splitlines()
            assert line.startswith(
                "Error: the cluster has no kind RoleBasedGroup (workloads.x-k8s.io/v1alpha1)"
            )


async def test_a_terminal_of_70_columns_shows_the_present_state_alone(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, trio())
    await group_settled(ns)
    await change(ns, update("engine:2", **UNREADY))
    command = (
        str(Path(sys.executable).with_name("intact")),
        *("rbg", "status", "llm", f"--kubeconfig={ns.cluster.kubeconfig}", "-n", ns.name),
    )
    terminal, once = InTerminal(70, 60), InTerminal(70, 60)
    following = asyncio.create_task(terminal.run((*command, "-w"), os.environ))
    await terminal.wrote("waits for: ")
    await change(ns, update("engine:3"))
    assert await following == 0, terminal.written
    await once.run(command, os.environ)
    assert terminal.written.count(f"{ns.name}/llm: ") > 2
    assert terminal.screen.lines == once.screen.lines
    assert terminal.screen.scrolled == []


def places(schema: Json, path: str) -> list[str]:
    """The objects in a schema, as kubectl names them."""
    found = [path] if "properties" in schema else []
    for name, inner in schema.get("properties", {}).items():
        found += places(inner, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found += places(inner, path)
    return found


SCHEMAS = {
    one["spec"]["names"]["kind"]: one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for one in definitions()
}


@pytest.mark.parametrize(
    ("short", "named"),
    [("rbg", "RoleBasedGroup"), ("rbgsa", "RoleBasedGroupScalingAdapter")],
)
async def test_kubectl_explains_every_field(ns: NamespaceUnderTest, short: str, named: str) -> None:
    for place in places(SCHEMAS[named], short):
        code, said = await ns.kubectl("explain", place)
        assert code == 0, said
        assert "<no description>" not in said, place
        assert "<empty>" not in said.replace("<Object>", ""), place
        assert re.search(r"DESCRIPTION:\n +\S", said), place


async def test_the_ways_out_while_intact_is_down(
    ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact
) -> None:
    await ns.create(GROUPS, trio())
    await group_settled(ns)
    intact_cluster.stop()
    edit = ("patch", "rbg", "llm", "--type=json", "-p", json.dumps(update("engine:2", 0, 1, 2)))
    code, said = await ns.kubectl(*edit)
    assert code == 1
    assert 'failed calling webhook "groups.intact.dev"' in said
    for command in ("pause", "restart"):
        said = await said_by(ns, command, "llm", code=1)
        assert said.startswith("Error: Intact does not answer, and without it no RoleBasedGroup")
    assert "llm" in await said_by(ns, "status", "llm")

    # Scale at once: the workload, and the adapter for later.
    code, said = await ns.kubectl("scale", "statefulset", "llm-prefill", "--replicas=6")
    assert code == 0, said
    code, said = await ns.kubectl("scale", "rbgsa", "llm-prefill", "--replicas=6")
    assert code == 0, said
    await ns.running(11)

    # The check off, as the page on operations has it.
    code, said = await ns.kubectl(*documented("patch validatingwebhookconfiguration intact"))
    assert code == 0, said
    code, said = await ns.kubectl(*edit)
    assert code == 0, said
    assert "Intact has not seen the change yet" in await said_by(ns, "status", "llm", code=3)

    intact_cluster.restore()
    await group_until(
        ns, "llm", lambda one: completed(one) and one.status.ready == "11/11", "the change"
    )
    assert await images(ns, "prefill") == {"engine:2"}
    sets = await ns.client.get(STATEFUL_SETS, "llm-prefill", ns.name)
    assert sets["spec"]["replicas"] == 6
    await eventually(lambda: policy(ns), lambda found: found == "Fail", "the check to be back")


async def policy(ns: NamespaceUnderTest) -> str:
    found = await ns.client.get(VALIDATING, "intact")
    [webhook] = [one for one in found["webhooks"] if one["name"] == "groups.intact.dev"]
    return str(webhook["failurePolicy"])


def documented(command: str) -> list[str]:
    """The arguments of a command of kubectl in the page on operations."""
    page = (Path(__file__).parents[3] / "docs/operations.md").read_text()
    [found] = re.findall(rf"^\$ kubectl ({re.escape(command)}.*)$", page, re.MULTILINE)
    words, _, body = found.partition(" '")
    return [*words.split(), body.removesuffix("'")]
