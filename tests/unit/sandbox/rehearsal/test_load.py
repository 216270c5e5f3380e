"""A copy of a cluster has its objects as they were, and nothing happens to it by itself."""

import asyncio
from functools import cache

import pytest

from intact.kube.resources import PUBS
from intact.sandbox.api.objects import encode
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.leader_worker_set.kind import LEADER_WORKER_SETS
from intact.sandbox.intact import Intact
from intact.sandbox.kubelet.times import Times
from intact.sandbox.loop import run
from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.stage import Options, Stage
from intact.sandbox.snapshot.anonymous import anonymized
from intact.sandbox.snapshot.document import decode
from intact.sandbox.snapshot.document import encode as encode_snapshot
from intact.sandbox.snapshot.reading import take
from tests.support.small_clusters import POD_GROUPS, SmallCluster
from tests.unit.sandbox.controllers.leader_worker_set.scene import leader_worker_set
from tests.unit.sandbox.rehearsal.scene import on_stage


def crowded() -> SmallCluster:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    made.pod_group("red", ["node-0", "node-1", "node-2"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    made.pub("llm", {"app": "llm"}, maxUnavailable=1)
    return made


def test_uids_times_and_statuses_are_kept() -> None:
    made, api = crowded(), MemoryApi()
    load(made.snapshot(), api)
    for pod in made.objects["pods"]:
        found = api.peek("pods", "default", pod["metadata"]["name"])
        assert found is not None
        assert found["metadata"]["uid"] == pod["metadata"]["uid"]
        assert found["metadata"]["creationTimestamp"] == pod["metadata"]["creationTimestamp"]
        assert found["status"]["conditions"] == pod["status"]["conditions"]
    assert api.peek(POD_GROUPS.full_name, "default", "red") is not None


def test_the_snapshot_is_not_changed() -> None:
    made = crowded()
    before = encode(made.objects)
    load(made.snapshot(), MemoryApi())
    assert encode(made.objects) == before


def test_namespaces_that_could_not_be_read_are_there() -> None:
    made, api = crowded(), MemoryApi()
    made.put("Pod", "web-0", namespace="shop", spec={"containers": []})
    load(made.snapshot(), api)
    assert api.peek("namespaces", "", "shop") is not None


def test_nothing_happens_to_pods_that_are_as_they_should_be() -> None:
    """Above all, no controller takes the templates of the snapshot for new ones."""

    async def wait(stage: Stage) -> None:
        before = {each["metadata"]["uid"] for each in stage.api.objects("pods")}
        await asyncio.sleep(600)
        assert {each["metadata"]["uid"] for each in stage.api.objects("pods")} == before
        assert stage.observer.ended == []
        assert len(list(stage.api.objects("replicasets.apps"))) == 1
        assert len(list(stage.api.objects("controllerrevisions.apps"))) == 1

    on_stage(crowded(), wait)


def test_a_node_that_is_not_ready_has_no_kubelet() -> None:
    made, api = crowded(), MemoryApi()
    made.objects["nodes"][0]["status"]["conditions"][0]["status"] = "Unknown"
    load(made.snapshot(), api)
    managed = [
        each["metadata"]["name"]
        for each in api.objects("nodes")
        if "kwok.x-k8s.io/node" in each["metadata"].get("annotations", {})
    ]
    assert managed == ["node-1", "node-2"]


@cache
def shards() -> bytes:
    """A snapshot of a LeaderWorkerSet of three groups of three, whose templates have secrets."""

    async def main() -> bytes:
        sandbox = Sandbox(times=Times(ready=20.0, termination=1.0))
        body = leader_worker_set(3, 3)
        template = body["spec"]["leaderWorkerTemplate"]["workerTemplate"]
        template["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
        async with sandbox.running(), Intact(sandbox).running():
            for number in range(3):
                await sandbox.add_node(f"node-{number}")
            client = sandbox.client()
            await client.create(LEADER_WORKER_SETS, body, "default")
            spec = {
                "selector": {"matchLabels": {"app": "llm"}},
                "maxUnavailable": 1,
                "podGroupPolicy": {
                    "groupLabelKey": "leaderworkerset.sigs.k8s.io/group-key",
                    "minReadyReplicas": 3,
                },
            }
            budget = {
                "apiVersion": PUBS.api_version,
                "kind": PUBS.kind,
                "metadata": {"name": "llm"},
                "spec": spec,
            }
            await client.create(PUBS, budget, "default")
            await asyncio.sleep(300)
            return encode_snapshot(await take(client, sandbox.clock))

    return run(main())


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "anonymized"])
def test_groups_of_a_leader_worker_set_stay_as_they_are_and_break_once_in_a_drain(
    hidden: bool,
) -> None:
    snapshot = decode(shards())
    snapshot = anonymized(snapshot) if hidden else snapshot
    node = snapshot.of("nodes")[0]["metadata"]["name"]

    async def work(stage: Stage) -> Outcome:
        await asyncio.sleep(600)
        assert stage.observer.ended == []
        drains = Drains(stage)
        return Outcome(await drains.run([node], 1), drains.reports([node]))

    report = rehearse(snapshot, "drain", work, Options(), intact=True)
    assert report.goes_through
    [budget] = report.budgets
    assert (budget.unit, budget.expected, budget.most_down) == ("group", 3, 1)
    assert {each.breaks for each in report.groups} == {1}
    [start] = report.start_times
    assert (start.source, start.pods, start.seconds) == ("observed", 9, 20)
    assert report.lost == []
