"""The real operator in the sandbox: budgets hold, rollouts go, and it can be removed in between."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.errors import NotFound, ServerError, TooManyRequests
from intact.kube.resources import PODS as POD_VIEWS
from intact.kube.resources import PUBS, RBGS, untyped
from intact.operator.webhook.configuration import DOOR_LABEL, GATED_LABEL, MUTATING, VALIDATING
from intact.sandbox import run
from intact.sandbox.api.pod_state import is_ready, is_terminating
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.leader_worker_set.kind import GROUP_KEY
from intact.sandbox.controllers.leader_worker_set.kind import LEADER_WORKER_SETS as SETS
from intact.sandbox.intact import Intact
from tests.support.objects import (
    NAMESPACES,
    PDBS,
    PODS,
    STATEFUL_SETS,
    Json,
    deployment,
    pod,
    spread_stateful_set,
)
from tests.unit.kube.simulated import simulated

NS = "ns"
GROUPS, SIZE = 4, 3
BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)
ROLE_BASED_GROUPS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)


class Groups:
    """Groups of pods, each a StatefulSet or all of one LeaderWorkerSet, and the most of them that
    were down at once."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._ready: Counter[str] = Counter()
        self.most_down = 0

    async def create(self, *, as_one_set: bool) -> None:
        client = self._sandbox.client()
        for number in range(3):
            await self._sandbox.add_node(f"node-{number}")
        if as_one_set:
            template = {"size": SIZE, "workerTemplate": deployment("a")["spec"]["template"]}
            spec = {"replicas": GROUPS, "leaderWorkerTemplate": template}
            kind = {"apiVersion": SETS.api_version, "kind": SETS.kind}
            await client.create(SETS, {**kind, "metadata": {"name": "a"}, "spec": spec}, NS)
        for number in range(0 if as_one_set else GROUPS):
            body = spread_stateful_set(f"g{number}", SIZE, "group", {"app": "a"})
            await client.create(STATEFUL_SETS, body, NS)
        self._sandbox.api.follow("pods", self._changed)
        async with asyncio.timeout(60):
            while self._ready.total() < GROUPS * SIZE:
                await asyncio.sleep(0.5)
        self.most_down = 0

    def _changed(self, old: Json | None, new: Json | None) -> None:
        for obj, step in ((old, -1), (new, 1)):
            group = _group_of(obj) if obj is not None else ""
            if obj is not None and group and is_ready(obj) and not is_terminating(obj):
                self._ready[group] += step
        self.most_down = max(self.most_down, sum(n < SIZE for n in self._ready.values()))


def _group_of(obj: Json) -> str:
    labels = obj["metadata"].get("labels") or {}
    return str(labels.get("group") or labels.get(GROUP_KEY) or "")


def pub(group_key: str) -> Json:
    return {
        "apiVersion": PUBS.api_version,
        "kind": PUBS.kind,
        "metadata": {"name": "b"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "maxUnavailable": 1,
            "podGroupPolicy": {"groupLabelKey": group_key, "minReadyReplicas": SIZE},
        },
    }


def pdb(group_key: str) -> Json:
    annotations = {}
    if group_key != GROUP_KEY:  # groups of a LeaderWorkerSet are known without it
        annotations = {
            "intact.dev/group-label-key": group_key,
            "intact.dev/min-ready-replicas": str(SIZE),
        }
    labels = {SCOPE_LABEL: "Workload"}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 1}
    return {"metadata": {"name": "b", "labels": labels, "annotations": annotations}, "spec": spec}


@asynccontextmanager
async def cluster(
    sandbox: Sandbox, *controllers: str, as_one_set: bool = False
) -> AsyncGenerator[tuple[Groups, Intact], None]:
    await sandbox.client().create(NAMESPACES, {"metadata": {"name": NS}})
    groups, intact = Groups(sandbox), Intact(sandbox, controllers or ("pub", "pdb", "rbg"))
    async with sandbox.running(), intact.running():
        await groups.create(as_one_set=as_one_set)
        yield groups, intact


async def drain(sandbox: Sandbox) -> int:
    """Evict all pods that are there at once, again after 5 s, until each has gone. Returns how
    often an eviction was refused."""
    client, refused = sandbox.client("kubectl"), 0
    left = {each["metadata"]["uid"]: each for each in sandbox.api.objects("pods", NS)}

    async def evict(uid: str, name: str) -> None:
        nonlocal refused
        try:
            await client.evict(POD_VIEWS, name, NS, uid=uid)
        except TooManyRequests:
            refused += 1
        except NotFound:  # another pod has its name
            pass

    async with asyncio.timeout(900):
        while left:
            await asyncio.gather(
                *(evict(uid, each["metadata"]["name"]) for uid, each in left.items())
            )
            await asyncio.sleep(5)
            there = {each["metadata"]["uid"] for each in sandbox.api.objects("pods", NS)}
            left = {uid: each for uid, each in left.items() if uid in there}
    return refused


async def counted(sandbox: Sandbox, full_name: str, field: str) -> None:
    async with asyncio.timeout(30):
        while not (sandbox.api.peek(full_name, NS, "b") or {}).get("status", {}).get(field):
            await asyncio.sleep(0.1)


async def create_budget(sandbox: Sandbox, kind: str, group_key: str = "group") -> None:
    if kind == "pub":
        await sandbox.client().create(BUDGETS, pub(group_key), NS)
        await counted(sandbox, PUBS.full_name, "unavailableAllowed")
        await gated(sandbox, GATED_LABEL)
    else:
        await sandbox.client().create(PDBS, pdb(group_key), NS)
        await counted(sandbox, "poddisruptionbudgets.policy", "disruptionsAllowed")
        await gated(sandbox, DOOR_LABEL)


async def gated(sandbox: Sandbox, label: str) -> None:
    async with asyncio.timeout(30):
        while label not in sandbox.api.peek("namespaces", "", NS)["metadata"]["labels"]:  # type: ignore[index]
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("kind", ["pub", "pdb"])
@pytest.mark.parametrize("as_one_set", [False, True], ids=["StatefulSets", "LeaderWorkerSet"])
def test_a_burst_of_evictions_never_takes_two_groups(kind: str, as_one_set: bool) -> None:
    async def course() -> None:
        sandbox = Sandbox()
        async with cluster(sandbox, as_one_set=as_one_set) as (groups, _):
            await create_budget(sandbox, kind, GROUP_KEY if as_one_set else "group")
            assert await drain(sandbox) > 0
            assert groups.most_down == 1

    run(course(), max_steps=2_000_000)


@pytest.mark.parametrize("kind", ["pub", "pdb"])
def test_once_it_is_uninstalled_a_drain_takes_all_groups_at_once(kind: str) -> None:
    async def course() -> None:
        sandbox = Sandbox()
        async with cluster(sandbox) as (groups, intact):
            await create_budget(sandbox, kind)
            said: list[str] = []
            await intact.uninstall(said.append)
            for resource in (VALIDATING, MUTATING):
                assert not (await sandbox.client().list(resource)).items
            labels = sandbox.api.peek("namespaces", "", NS)["metadata"]["labels"]  # type: ignore[index]
            assert not {GATED_LABEL, DOOR_LABEL} & set(labels)
            assert any("removed" in line for line in said)
            if kind == "pub":
                assert await drain(sandbox) == 0
                assert groups.most_down == GROUPS
            else:
                budget = sandbox.api.peek("poddisruptionbudgets.policy", NS, "b")
                assert budget is not None
                assert budget["status"]["disruptionsAllowed"] == 0

    run(course(), max_steps=2_000_000)


@simulated
async def test_what_it_registered_refuses_while_it_is_stopped_and_works_again_later() -> None:
    sandbox = Sandbox()
    async with cluster(sandbox) as (_, intact):
        await create_budget(sandbox, "pub")
        await intact.stop()
        with pytest.raises(ServerError, match="connection refused"):
            await sandbox.client().evict(POD_VIEWS, "g0-0", NS)
        async with intact.running():
            await sandbox.client().evict(POD_VIEWS, "g0-0", NS)
            with pytest.raises(TooManyRequests, match="g0"):
                await sandbox.client().evict(POD_VIEWS, "g1-0", NS)


@simulated
async def test_other_namespaces_are_not_touched_while_it_is_stopped() -> None:
    sandbox = Sandbox()
    async with cluster(sandbox) as (_, intact):
        await create_budget(sandbox, "pub")
        await intact.stop()
        await sandbox.client().create(PODS, pod("p"), "default")
        await sandbox.client().evict(POD_VIEWS, "p", "default")


@simulated
async def test_plain_budgets_are_counted_by_the_disruption_controller() -> None:
    sandbox = Sandbox()
    async with cluster(sandbox, "disruption"):
        spec = {"selector": {"matchLabels": {"app": "a"}}, "minAvailable": GROUPS * SIZE - 2}
        await sandbox.client().create(PDBS, {"metadata": {"name": "b"}, "spec": spec}, NS)
        await counted(sandbox, "poddisruptionbudgets.policy", "disruptionsAllowed")
        budget = sandbox.api.peek("poddisruptionbudgets.policy", NS, "b")
        assert budget is not None
        assert budget["status"]["disruptionsAllowed"] == 2


def rbg() -> Json:
    def role(name: str, replicas: int) -> Json:
        containers = [{"name": "main", "image": "engine:1"}]
        template = {"metadata": {"labels": {"role": name}}, "spec": {"containers": containers}}
        return {
            "name": name,
            "replicas": replicas,
            "workload": {"apiVersion": "apps/v1", "kind": "Deployment"},
            "template": template,
        }

    return {
        "apiVersion": RBGS.api_version,
        "kind": RBGS.kind,
        "metadata": {"name": "llm"},
        "spec": {"roles": [role("prefill", 2), role("decode", 3)]},
    }


@simulated
async def test_a_rolebasedgroup_makes_its_workloads() -> None:
    sandbox = Sandbox()
    async with cluster(sandbox):
        await sandbox.client().create(ROLE_BASED_GROUPS, rbg(), NS)
        async with asyncio.timeout(30):
            while len(found := list(sandbox.api.objects("deployments.apps", NS))) < 2:
                await asyncio.sleep(0.1)
        assert sorted(each["spec"]["replicas"] for each in found) == [2, 3]


async def test_it_runs_in_real_time_too() -> None:
    sandbox = Sandbox()
    sandbox.parts.append(intact := Intact(sandbox))
    async with asyncio.timeout(30), sandbox.running():
        await intact.wait_ready()
        assert len((await sandbox.client().list(VALIDATING)).items) == 1


@simulated
async def test_it_runs_once() -> None:
    sandbox = Sandbox()
    async with Intact(sandbox).running() as intact:
        with pytest.raises(RuntimeError, match="runs already"):
            await intact.run()


def test_the_same_seed_takes_the_same_course() -> None:
    def versions(seed: int) -> list[Any]:
        seen: list[Any] = []

        async def course() -> None:
            sandbox = Sandbox(seed=seed)
            async with cluster(sandbox):
                await create_budget(sandbox, "pub")
                await drain(sandbox)
                seen.extend(sandbox.api.objects("pods", NS))
                seen.append(sandbox.api.revision)

        run(course(), seed=seed, max_steps=2_000_000)
        return seen

    assert versions(1) == versions(1)
