"""The report says why a pod never goes, finds no place or does not come back."""

import pytest

from intact.sandbox.loop import run
from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.report import Report, Why
from intact.sandbox.rehearsal.stage import Options, Stage
from intact.sandbox.snapshot.document import Snapshot
from intact.sandbox.snapshot.reading import take
from tests.support.small_clusters import SmallCluster, asking
from tests.unit.sandbox.controllers.leader_worker_set.scene import leader_worker_set, scene
from tests.unit.sandbox.rehearsal.scene import drained


def only(report: Report) -> tuple[str, Why, str]:
    [found] = report.never
    return found.pod, found.why, found.message


def test_a_budget_that_never_allows() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])
    made.pdb("web", {"app": "web"}, minAvailable=1)
    pod, why, message = only(drained(made, "node-0"))
    assert (pod, why) == ("web-5d4f8c7d9-pod0", Why.NEVER_ALLOWS)
    assert "PodDisruptionBudget default/web requires 1 of 1 pod" in message


def test_a_pub_that_never_allows() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    made.pub("web", {"app": "web"}, maxUnavailable=0)
    pod, why, message = only(drained(made, "node-0"))
    assert (pod, why) == ("web-5d4f8c7d9-pod0", Why.NEVER_ALLOWS)
    assert "PodUnavailableBudget default/web requires 2 of 2 pods" in message


def test_two_budgets_on_one_pod() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    for name in ("one", "two"):
        made.pdb(name, {"app": "web"}, maxUnavailable=1)
    report = drained(made, "node-0")
    pod, why, _message = only(report)
    assert (pod, why) == ("web-5d4f8c7d9-pod0", Why.TWO_BUDGETS)
    assert len(report.never[0].budgets) == 2


def test_no_room_for_the_pod_that_the_budget_waits_for() -> None:
    made = SmallCluster(nodes=2, cpu="4")
    made.deployment("web", ["node-0", "node-0", "node-1"], containers=asking("2"))
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    made.deployment("full", ["node-1"], containers=asking("1"))
    report = drained(made, "node-0")
    pod, why, message = only(report)
    assert (pod, why) == ("web-5d4f8c7d9-pod1", Why.NO_ROOM)
    assert "Insufficient cpu" in message
    assert [each.workload for each in report.unplaced] == ["Deployment default/web"]


def test_a_pod_without_a_budget_that_finds_no_place() -> None:
    made = SmallCluster(nodes=2, cpu="4")
    made.deployment("web", ["node-0"], nodeSelector={"kubernetes.io/hostname": "node-0"})
    report = drained(made, "node-0")
    assert report.never == []
    assert not report.goes_through
    [found] = report.unplaced
    assert "didn't match Pod's node affinity/selector" in found.message


def test_a_pod_of_a_higher_priority_takes_the_place_of_another() -> None:
    made = SmallCluster(nodes=2, cpu="4")
    made.put("PriorityClass", "high", value=1000)
    made.deployment("web", ["node-0"], containers=asking("3"), priorityClassName="high")
    made.deployment("spare", ["node-1"], containers=asking("3"))
    report = drained(made, "node-0")
    assert [(each.workload, each.attempts) for each in report.pods] == [
        ("Deployment default/web", 1),
        ("Deployment default/spare", 0),
    ]
    assert [each.workload for each in report.unplaced] == ["Deployment default/spare"]


def test_pods_that_waited_before_are_not_the_drain_s_fault() -> None:
    made = SmallCluster(nodes=2, cpu="4")
    made.deployment("web", ["node-0"])
    made.deployment("big", ["node-1"], containers=asking("400"))
    pod = made.objects["pods"][-1]
    del pod["spec"]["nodeName"]
    pod["status"] = {"phase": "Pending"}
    report = drained(made, "node-0")
    assert report.goes_through
    assert report.unplaced == []


def test_a_budget_that_waits_for_pods_that_are_not_ready() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1", "node-2"])
    for each in made.objects["pods"][1:]:
        each["status"]["conditions"][1]["status"] = "False"
        each["status"]["conditions"][2]["status"] = "False"
        each["status"]["containerStatuses"][0]["ready"] = False
    made.pdb("web", {"app": "web"}, minAvailable=1)
    pod, why, message = only(drained(made, "node-0"))
    assert (pod, why) == ("web-5d4f8c7d9-pod0", Why.NOT_READY)
    assert "web-5d4f8c7d9-pod1, web-5d4f8c7d9-pod2" in message


def test_a_finalizer_that_holds_a_pod() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])
    made.objects["pods"][0]["metadata"]["finalizers"] = ["example.com/held"]
    assert only(drained(made, "node-0"))[:2] == ("web-5d4f8c7d9-pod0", Why.STAYS)


@pytest.mark.parametrize("given", [False, True])
def test_local_storage_as_kubectl(given: bool) -> None:
    made = SmallCluster()
    volumes = [{"name": "scratch", "emptyDir": {}}]
    made.deployment("web", ["node-0", "node-1"], volumes=volumes)
    report = drained(made, "node-0", options=Options(delete_emptydir_data=given))
    assert report.goes_through is given
    assert [each.why for each in report.never] == ([] if given else [Why.LOCAL_STORAGE])


def test_what_an_unknown_kind_does_is_said_not_guessed() -> None:
    made = SmallCluster()
    owner = {"apiVersion": "acme.example/v1", "kind": "Training", "metadata": {
        "name": "train", "uid": "u"}}  # fmt: skip
    made.pod("train-0", "node-0", owner)
    report = drained(made, "node-0")
    assert report.goes_through
    [lost] = report.lost
    assert lost.message == "what the controller of Training train does is not known"


def test_a_group_that_is_made_anew_with_its_owner_is_not_lost() -> None:
    """The workers of a LeaderWorkerSet belong to a StatefulSet that goes with their leader."""

    async def make() -> Snapshot:
        async with scene(leader_worker_set(), nodes=3) as found:
            return await take(found.sandbox.client(), found.sandbox.clock)

    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        done = await drains.run(["node-0"], 1)
        return Outcome(done, drains.reports(["node-0"]))

    report = rehearse(run(make()), "drain", work, Options(), intact=False)
    assert report.goes_through
    assert {each.pod for each in report.pods} >= {"llm-0", "llm-0-1", "llm-0-2"}
    assert report.lost == []


def test_an_owner_that_the_snapshot_does_not_have_is_named() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])
    made.objects["replicasets.apps"].clear()
    made.objects["deployments.apps"].clear()
    [lost] = drained(made, "node-0").lost
    assert lost.message == "ReplicaSet web-5d4f8c7d9, which controls it, is not in the snapshot"


def test_a_finished_pod_is_not_waited_for() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    made.pod("done", "node-1", labels={"app": "web"}, ready=False)["status"]["phase"] = "Succeeded"
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    held = made.pod("held", "node-2", made.objects["replicasets.apps"][0], ready=False)
    held["metadata"]["labels"] = made.objects["pods"][0]["metadata"]["labels"]
    made.objects["replicasets.apps"][0]["spec"]["replicas"] = 3
    made.objects["deployments.apps"][0]["spec"]["replicas"] = 3
    _pod, why, message = only(drained(made, "node-0"))
    assert why is Why.NOT_READY
    assert "unready pods: held. " in message


WIDGET = {"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "w-1"}}


def test_a_budget_that_cannot_be_counted() -> None:
    made = SmallCluster()
    made.pod("widget", "node-0", WIDGET, labels={"app": "widget"})
    made.pdb("widget", {"app": "widget"}, maxUnavailable=1)
    report = drained(made, "node-0")
    _pod, why, message = only(report)
    assert why is Why.NOT_COUNTED
    assert 'cannot be counted: no matches for kind "Widget"' in message
    assert report.notes == []


def test_a_pod_on_a_node_that_is_not_ready() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])
    made.objects["nodes"][0]["status"]["conditions"][0]["status"] = "Unknown"
    _pod, why, message = only(drained(made, "node-0"))
    assert (why, message) == (
        Why.STAYS,
        "its eviction was granted, and its node is not ready: no kubelet ends it",
    )


def test_a_budget_that_misses_a_pod_which_does_not_come_back() -> None:
    made = SmallCluster()
    for number in range(2):
        made.pod(f"bare-{number}", f"node-{number}", labels={"app": "bare"})
    made.pdb("bare", {"app": "bare"}, minAvailable=1)
    report = drained(made, "node-0", "node-1", options=Options(force=True))
    pod, why, message = only(report)
    assert (pod, why) == ("bare-1", Why.REFUSED)
    assert "default/bare misses pod bare-0, which does not come back" in message
