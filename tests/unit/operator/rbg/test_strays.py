"""Workloads that have lost the label by which the stores find them."""

from intact.rollout.names import GROUP, ROLE
from tests.support.objects import PODS
from tests.support.rbg_objects import group, kind, role
from tests.support.rbg_waiting import DEPLOYMENTS, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, reference
from tests.unit.operator.rbg.scene import Scene, grouping, play_all, two_roles


async def strip(scene: Scene, name: str) -> None:
    lost = {"metadata": {"labels": {GROUP: None, ROLE: None}}}
    await scene.client.patch(STATEFUL_SETS, lost, name, NS)
    await scene.settle()


@simulated
async def test_the_pods_tell_of_a_workload_without_labels() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        uid = scene.get(STATEFUL_SETS, "llm-prefill")["metadata"]["uid"]
        await strip(scene, "llm-prefill")
        found = scene.get(STATEFUL_SETS, "llm-prefill")["metadata"]
        assert (found["uid"], found["labels"][GROUP], found["labels"][ROLE]) == (
            uid,
            "llm",
            "prefill",
        )


@simulated
async def test_a_deployment_of_any_name_is_found_through_its_replica_sets() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("web", 1, **kind("Deployment"))))
        await scene.play(DEPLOYMENTS)
        scene.writes()
        owned = scene.get(DEPLOYMENTS, "llm-web")
        labels = owned["spec"]["template"]["metadata"]["labels"]
        other = {
            "metadata": {
                "name": "llm-web-0123456789",
                "ownerReferences": owned["metadata"]["ownerReferences"],
            },
            "spec": {**owned["spec"], "replicas": 1},
        }
        await scene.client.create(DEPLOYMENTS, other, NS)
        pod = {
            "metadata": {
                "name": "p",
                "labels": {**labels, "pod-template-hash": "abc"},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": "llm-web-0123456789-abc",
                        "uid": "rs",
                        "controller": True,
                    }
                ],
            },
            "spec": {"containers": [{"name": "engine", "image": "engine:1"}]},
        }
        await scene.client.create(PODS, pod, NS)
        await scene.settle()
        [repair] = [one for one in scene.writes() if "llm-web-0123456789" in one][:1]
        assert repair.startswith("PATCH")


@simulated
async def test_what_others_own_gets_no_labels() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        mine = {"metadata": {"name": "mine"}, "spec": {"replicas": 0}}
        made = await scene.client.create(STATEFUL_SETS, mine, NS)
        labels = {GROUP: "llm", ROLE: "prefill"}
        pod = {
            "metadata": {"name": "p", "labels": labels, "ownerReferences": [reference(made)]},
            "spec": {"containers": [{"name": "engine", "image": "engine:1"}]},
        }
        await scene.client.create(PODS, pod, NS)
        await scene.settle()
        assert "labels" not in scene.get(STATEFUL_SETS, "mine")["metadata"]
