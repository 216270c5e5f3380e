"""ReplicaSets and StatefulSets keep so many pods, each in its own way."""

from typing import Any

import pytest

from intact.kube.resources import Resource
from tests.contract.clusters import ClusterBackend
from tests.support.objects import (
    CONTROLLER_REVISIONS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SLOW_PROBE,
    STATEFUL_SETS,
    Json,
    replica_set,
    replication_controller,
    stateful_set,
)

NEW = "registry.example/main:2"


def names(pods: list[Json]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def images(pods: list[Json]) -> list[str]:
    return [pod["spec"]["containers"][0]["image"][-1] for pod in pods]


def uids(pods: list[Json]) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def new_image(image: str = NEW) -> Json:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}


def slow(body: Json) -> Json:
    """With pods that are ready a second after their start."""
    body["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = SLOW_PROBE
    return body


@pytest.mark.parametrize(
    ("resource", "body"),
    [
        (REPLICA_SETS, replica_set("w", 3)),
        (REPLICATION_CONTROLLERS, replication_controller("w", 3)),
        (STATEFUL_SETS, stateful_set("w", 3)),
        (STATEFUL_SETS, stateful_set("w", 3, podManagementPolicy="Parallel")),
    ],
    ids=["ReplicaSet", "ReplicationController", "OrderedReady", "Parallel"],
)
class TestScaling:
    async def test_pods_are_made_replaced_and_taken(
        self, cluster_backend: ClusterBackend, resource: Resource[Json], body: Json
    ) -> None:
        backend = cluster_backend
        made = await backend.create(resource, body)
        up = await backend.until_status(resource, "w", replicas=3, readyReplicas=3)
        assert up["status"]["availableReplicas"] == 3
        pods = await backend.pods()
        owner = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": "w",
            "uid": made["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        assert [pod["metadata"]["ownerReferences"] for pod in pods] == [[owner]] * 3

        await backend.client.delete(PODS, names(pods)[1], backend.namespace)
        before = uids(pods)
        after = await backend.until(
            backend.pods, lambda seen: len(seen) == 3 and uids(seen) != before
        )
        assert len(before.items() & uids(after).items()) == 2
        await backend.until_status(resource, "w", replicas=3, readyReplicas=3)

        await backend.patch(resource, "w", {"spec": {"replicas": 1}})
        await backend.until_status(resource, "w", replicas=1, readyReplicas=1)
        await backend.until(backend.pods, lambda seen: len(seen) == 1)

        await backend.patch(resource, "w", {"spec": {"replicas": 0}})
        await backend.until_status(resource, "w", replicas=0, readyReplicas=0)
        await backend.until(backend.pods, lambda seen: not seen)


class TestReplicaSet:
    async def test_a_pod_that_is_not_ready_goes_before_one_that_is(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        await backend.create(REPLICA_SETS, replica_set("w", 3))
        await backend.until_status(REPLICA_SETS, "w", readyReplicas=3)
        ready = names(await backend.pods())
        # A template may change: the pods that are there keep theirs.
        probe = {
            "name": "main",
            "image": NEW,
            "readinessProbe": {**SLOW_PROBE, "initialDelaySeconds": 600},
        }
        await backend.patch(
            REPLICA_SETS,
            "w",
            {"spec": {"replicas": 5, "template": {"spec": {"containers": [probe]}}}},
        )
        await backend.until_status(REPLICA_SETS, "w", replicas=5, readyReplicas=3)
        await backend.patch(REPLICA_SETS, "w", {"spec": {"replicas": 3}})
        await backend.until_status(REPLICA_SETS, "w", replicas=3)
        await backend.until(backend.pods, lambda seen: len(seen) == 3)
        assert names(await backend.pods()) == ready

    async def test_the_cheapest_pod_goes_first(self, cluster_backend: ClusterBackend) -> None:
        backend = cluster_backend
        await backend.create(REPLICA_SETS, replica_set("w", 4))
        await backend.until_status(REPLICA_SETS, "w", readyReplicas=4)
        pods = names(await backend.pods())
        for name, cost in zip(pods, ("5", "-3", "7", "-2"), strict=True):
            annotations = {"controller.kubernetes.io/pod-deletion-cost": cost}
            await backend.patch(PODS, name, {"metadata": {"annotations": annotations}})
        await backend.patch(REPLICA_SETS, "w", {"spec": {"replicas": 2}})
        await backend.until(backend.pods, lambda seen: len(seen) == 2)
        assert names(await backend.pods()) == [pods[0], pods[2]]

    async def test_a_pod_counts_as_available_after_a_while(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        await backend.create(REPLICA_SETS, replica_set("w", 1, minReadySeconds=2))
        ready = await backend.until_status(REPLICA_SETS, "w", readyReplicas=1)
        assert "availableReplicas" not in ready["status"]
        await backend.until_status(REPLICA_SETS, "w", availableReplicas=1)

    async def test_finished_pods_are_replaced_and_stay(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        await backend.create(REPLICA_SETS, replica_set("w", 2))
        await backend.until_status(REPLICA_SETS, "w", readyReplicas=2)
        name = names(await backend.pods())[0]
        await fail(backend, name)
        after = await backend.until(backend.pods, lambda seen: len(seen) == 3)
        assert name in names(after)
        await backend.until_status(REPLICA_SETS, "w", replicas=2, readyReplicas=2)


async def fail(backend: ClusterBackend, name: str) -> None:
    await backend.client.patch(
        PODS, {"status": {"phase": "Failed"}}, name, backend.namespace, subresource="status"
    )


def steps(events: list[Any]) -> list[str]:
    """What happened to pods, in order: +made, ~ready, !going, -gone."""
    found: list[str] = []
    for event in events:
        meta = event.object["metadata"]
        ready = any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in event.object["status"].get("conditions", ())
        )
        seen = {
            "+": event.type == "ADDED",
            "~": event.type != "DELETED" and ready and "deletionTimestamp" not in meta,
            "!": event.type != "DELETED" and "deletionTimestamp" in meta,
            "-": event.type == "DELETED",
        }
        for sign, holds in seen.items():
            step = f"{sign}{meta['name'].rpartition('-')[2]}"
            last = next((each for each in reversed(found) if each[1:] == step[1:]), "")
            if holds and last != step:
                found.append(step)
    return found


class TestStatefulSet:
    async def test_a_pod_has_its_name_and_its_revision(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 2, ordinals={"start": 3}))
        found = await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2)
        pods = await backend.pods()
        assert names(pods) == ["w-3", "w-4"]
        (revision,) = await backend.all(CONTROLLER_REVISIONS)
        name = revision["metadata"]["name"]
        assert pods[0]["metadata"]["labels"] == {
            "app": "w",
            "controller-revision-hash": name,
            "statefulset.kubernetes.io/pod-name": "w-3",
            "apps.kubernetes.io/pod-index": "3",
        }
        assert (pods[0]["spec"]["hostname"], pods[0]["spec"]["subdomain"]) == ("w-3", "w")
        assert "generateName" in pods[0]["metadata"]
        status = found["status"]
        assert status["currentRevision"] == status["updateRevision"] == name
        assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 2)
        assert status["collisionCount"] == 0
        hash_label = revision["metadata"]["labels"]["controller.kubernetes.io/hash"]
        assert name == f"w-{hash_label}"
        assert revision["metadata"]["labels"]["app"] == "w"
        assert revision["revision"] == 1
        assert revision["data"]["spec"]["template"]["$patch"] == "replace"

    async def test_in_order_each_pod_waits_for_those_before_it(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        async with backend.recorded() as events:
            await backend.create(STATEFUL_SETS, slow(stateful_set("w", 3)))
            await backend.until_status(STATEFUL_SETS, "w", readyReplicas=3)
            assert steps(events) == ["+0", "~0", "+1", "~1", "+2", "~2"]
            events.clear()
            await backend.patch(STATEFUL_SETS, "w", {"spec": {"replicas": 0}})
            await backend.until(lambda: _gone(events), lambda gone: gone == ["w-2", "w-1", "w-0"])
            assert [step for step in steps(events) if step[0] in "!-"] == [
                "!2",
                "-2",
                "!1",
                "-1",
                "!0",
                "-0",
            ]

    async def test_in_parallel_no_pod_waits(self, cluster_backend: ClusterBackend) -> None:
        backend = cluster_backend
        async with backend.recorded() as events:
            body = slow(stateful_set("w", 3, podManagementPolicy="Parallel"))
            await backend.create(STATEFUL_SETS, body)
            await backend.until_status(STATEFUL_SETS, "w", readyReplicas=3)
            assert sorted(steps(events)[:3]) == ["+0", "+1", "+2"]

    @pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
    async def test_an_update_goes_from_the_highest_pod_down_one_by_one(
        self, cluster_backend: ClusterBackend, policy: str
    ) -> None:
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 3, podManagementPolicy=policy))
        before = await backend.until_status(STATEFUL_SETS, "w", readyReplicas=3)
        async with backend.recorded() as events:
            await backend.patch(STATEFUL_SETS, "w", slow(new_image()))
            after = await backend.until_status(
                STATEFUL_SETS, "w", readyReplicas=3, updatedReplicas=3, currentReplicas=3
            )
            seen = steps(events)
        made = [step for step in seen if step[0] in "+-"]
        assert made == ["-2", "+2", "-1", "+1", "-0", "+0"]
        # Each is ready before the next one goes.
        for above, below in (("2", "1"), ("1", "0")):
            ready = seen.index(f"~{above}", seen.index(f"+{above}"))
            assert ready < seen.index(f"-{below}")
        assert images(await backend.pods()) == ["2", "2", "2"]
        assert after["status"]["currentRevision"] == after["status"]["updateRevision"]
        assert after["status"]["currentRevision"] != before["status"]["currentRevision"]
        assert len(await backend.all(CONTROLLER_REVISIONS)) == 2

    async def test_pods_below_the_partition_keep_their_revision(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        body = stateful_set("w", 4, podManagementPolicy="Parallel", updateStrategy=strategy)
        await backend.create(STATEFUL_SETS, body)
        first = (await backend.until_status(STATEFUL_SETS, "w", readyReplicas=4))["status"]
        await backend.patch(STATEFUL_SETS, "w", new_image())
        half = (
            await backend.until_status(
                STATEFUL_SETS, "w", readyReplicas=4, updatedReplicas=2, currentReplicas=2
            )
        )["status"]
        assert half["currentRevision"] == first["currentRevision"] != half["updateRevision"]
        assert images(await backend.pods()) == ["1", "1", "2", "2"]

        # A pod that is lost comes back as it was.
        for name in ("w-0", "w-3"):
            old = (await backend.get(PODS, name))["metadata"]["uid"]
            await backend.client.delete(PODS, name, backend.namespace)
            await backend.until(
                backend.pods,
                lambda seen, name=name, old=old: uids(seen).get(name, old) != old,  # type: ignore[misc]
            )
        assert images(await backend.pods()) == ["1", "1", "2", "2"]

        await backend.patch(
            STATEFUL_SETS, "w", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
        )
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=4, updatedReplicas=4)
        assert images(await backend.pods()) == ["2", "2", "2", "2"]

    async def test_a_rollback_takes_up_the_old_revision_again(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 1))
        first = await backend.until_status(STATEFUL_SETS, "w", readyReplicas=1)
        await backend.patch(STATEFUL_SETS, "w", new_image())
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=1, updatedReplicas=1)
        await backend.patch(STATEFUL_SETS, "w", new_image("registry.example/main:1"))
        last = await backend.until_status(
            STATEFUL_SETS, "w", readyReplicas=1, updatedReplicas=1, currentReplicas=1
        )
        assert last["status"]["updateRevision"] == first["status"]["updateRevision"]
        numbers = [each["revision"] for each in await backend.all(CONTROLLER_REVISIONS)]
        assert sorted(numbers) == [2, 3]

    async def test_old_revisions_go_beyond_the_limit(self, cluster_backend: ClusterBackend) -> None:
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 1, revisionHistoryLimit=1))
        for image in ("2", "3", "4"):
            await backend.until_status(STATEFUL_SETS, "w", readyReplicas=1, updatedReplicas=1)
            await backend.patch(STATEFUL_SETS, "w", new_image(f"registry.example/main:{image}"))
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=1, updatedReplicas=1)

        async def numbers() -> list[int]:
            found = await backend.all(CONTROLLER_REVISIONS)
            return sorted(each["revision"] for each in found)

        await backend.until(numbers, lambda seen: seen == [3, 4])

    async def test_on_delete_an_update_waits_for_each_deletion(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        body = stateful_set("w", 2, updateStrategy={"type": "OnDelete"})
        await backend.create(STATEFUL_SETS, body)
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2)
        await backend.patch(STATEFUL_SETS, "w", new_image())
        await backend.until_status(STATEFUL_SETS, "w", updatedReplicas=0)
        await backend.client.delete(PODS, "w-0", backend.namespace)
        status = (
            await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2, updatedReplicas=1)
        )["status"]
        assert images(await backend.pods()) == ["2", "1"]
        assert status["currentRevision"] != status["updateRevision"]

    @pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
    async def test_a_failed_pod_is_replaced(
        self, cluster_backend: ClusterBackend, policy: str
    ) -> None:
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 2, podManagementPolicy=policy))
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2)
        old = uids(await backend.pods())
        await fail(backend, "w-0")
        new = await backend.until(
            backend.pods, lambda seen: uids(seen).get("w-0", old["w-0"]) != old["w-0"]
        )
        assert uids(new)["w-1"] == old["w-1"]
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2)

    async def test_in_order_the_next_pod_waits_until_it_is_available(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 2, minReadySeconds=2))
        first = await backend.until_status(STATEFUL_SETS, "w", readyReplicas=1)
        assert first["status"]["availableReplicas"] == 0
        assert names(await backend.pods()) == ["w-0"]
        await backend.until_status(STATEFUL_SETS, "w", replicas=2, availableReplicas=2)


async def _gone(events: list[Any]) -> list[str]:
    return [each.object["metadata"]["name"] for each in events if each.type == "DELETED"]


def never_ready(update: Json) -> Json:
    """The update, to pods that do not become ready while a test lasts."""
    broken = slow(update)
    probe = {**SLOW_PROBE, "initialDelaySeconds": 600}
    broken["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = probe
    return broken


class TestUpdatesThatWait:
    async def test_in_order_a_broken_update_holds_up_its_own_repair(
        self, cluster_backend: ClusterBackend
    ) -> None:
        """A known trait of OrderedReady: a pod that never gets ready has to be deleted by hand."""
        backend = cluster_backend
        await backend.create(STATEFUL_SETS, stateful_set("w", 2))
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2)
        await backend.patch(STATEFUL_SETS, "w", never_ready(new_image()))
        await backend.until_status(STATEFUL_SETS, "w", updatedReplicas=1, readyReplicas=1)
        await backend.patch(STATEFUL_SETS, "w", new_image("registry.example/main:3"))
        await backend.until_status(STATEFUL_SETS, "w", updatedReplicas=0, readyReplicas=1)
        assert images(await backend.pods()) == ["1", "2"]
        await backend.client.delete(PODS, "w-1", backend.namespace)
        await backend.until_status(STATEFUL_SETS, "w", updatedReplicas=2, readyReplicas=2)
        assert images(await backend.pods()) == ["3", "3"]

    async def test_in_parallel_a_broken_update_is_repaired(
        self, cluster_backend: ClusterBackend
    ) -> None:
        backend = cluster_backend
        body = stateful_set("w", 2, podManagementPolicy="Parallel")
        await backend.create(STATEFUL_SETS, body)
        await backend.until_status(STATEFUL_SETS, "w", readyReplicas=2)
        await backend.patch(STATEFUL_SETS, "w", never_ready(new_image()))
        await backend.until_status(STATEFUL_SETS, "w", updatedReplicas=1, readyReplicas=1)
        await backend.patch(STATEFUL_SETS, "w", new_image("registry.example/main:3"))
        await backend.until_status(STATEFUL_SETS, "w", updatedReplicas=2, readyReplicas=2)
        assert images(await backend.pods()) == ["3", "3"]

    async def test_how_many_may_be_unavailable_is_not_known(
        self, cluster_backend: ClusterBackend
    ) -> None:
        """The field is behind a feature gate that is off."""
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
        made = await cluster_backend.create(
            STATEFUL_SETS, stateful_set("w", 0, updateStrategy=strategy)
        )
        assert made["spec"]["updateStrategy"] == {
            "type": "RollingUpdate",
            "rollingUpdate": {"partition": 0},
        }
