"""Deployments roll out new templates within their limits."""

from typing import Any

import pytest

from tests.contract.clusters import ClusterBackend
from tests.contract.test_workloads import fail, images, names, new_image, slow, uids
from tests.support.objects import DEPLOYMENTS, PODS, REPLICA_SETS, Json, deployment

REVISION = "deployment.kubernetes.io/revision"


def rolling(replicas: int, surge: int | str, unavailable: int | str) -> Json:
    body = deployment("w", replicas)
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    body["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": limits}
    return body


def conditions(obj: Json) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in obj["status"]["conditions"]}


async def up(backend: ClusterBackend, body: Json) -> Json:
    await backend.create(DEPLOYMENTS, body)
    return await done(backend, body["spec"]["replicas"])


async def done(backend: ClusterBackend, replicas: int) -> Json:
    """Wait until the rollout is complete."""

    def complete(obj: Json) -> bool:
        return conditions(obj).get("Progressing") == ("True", "NewReplicaSetAvailable")

    await backend.until_status(
        DEPLOYMENTS,
        "w",
        replicas=replicas,
        updatedReplicas=replicas,
        availableReplicas=replicas,
        unavailableReplicas=0,
        terminatingReplicas=0,
    )
    return await backend.until(lambda: backend.get(DEPLOYMENTS, "w"), complete)


def extremes(pods: list[Json], events: list[Any]) -> tuple[int, int]:
    """The most pods there were at once, and the fewest that were ready."""
    there = {pod["metadata"]["uid"]: pod for pod in pods}
    most = fewest = len(pods)
    for event in events:
        pod = event.object
        there[pod["metadata"]["uid"]] = pod
        if event.type == "DELETED" or "deletionTimestamp" in pod["metadata"]:
            del there[pod["metadata"]["uid"]]
        most = max(most, len(there))
        fewest = min(fewest, sum(map(is_ready, there.values())))
    return most, fewest


def is_ready(pod: Json) -> bool:
    return any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in pod["status"].get("conditions", ())
    )


async def test_a_deployment_has_one_replica_set_with_its_hash(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    body = deployment("w", 3)
    body["metadata"]["annotations"] = {"team": "blue"}
    found = await up(backend, body)
    (one,) = await backend.all(REPLICA_SETS)
    meta = one["metadata"]
    suffix = meta["labels"]["pod-template-hash"]
    assert meta["name"] == f"w-{suffix}"
    assert one["spec"]["selector"]["matchLabels"] == {"app": "w", "pod-template-hash": suffix}
    assert one["spec"]["template"]["metadata"]["labels"] == meta["labels"]
    assert meta["annotations"] == {
        "team": "blue",
        REVISION: "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    pods = await backend.pods()
    assert {pod["metadata"]["labels"]["pod-template-hash"] for pod in pods} == {suffix}
    assert all(name.startswith(f"w-{suffix}-") for name in names(pods))
    assert found["metadata"]["annotations"][REVISION] == "1"
    assert {name: value for name, value in found["status"].items() if name != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    assert conditions(found) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    messages = {each["type"]: each["message"] for each in found["status"]["conditions"]}
    assert messages["Progressing"] == f'ReplicaSet "w-{suffix}" has successfully progressed.'


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "fewest"),
    [(1, 0, 5, 4), ("50%", "25%", 6, 3), (0, "10%", 4, 3)],
)
async def test_a_rollout_stays_within_its_limits(
    cluster_backend: ClusterBackend,
    surge: int | str,
    unavailable: int | str,
    most: int,
    fewest: int,
) -> None:
    backend = cluster_backend
    await up(backend, rolling(4, surge, unavailable))
    before = await backend.pods()
    async with backend.recorded() as events:
        await backend.patch(DEPLOYMENTS, "w", slow(new_image()))
        found = await done(backend, 4)
        after = await backend.until(backend.pods, lambda seen: len(seen) == 4)
        seen = extremes(before, events)
        # Each ReplicaSet acts by itself: the new one may make a pod before the old one deletes its.
        assert most <= seen[0] <= most + 1
        assert seen[1] == fewest
    assert images(after) == ["2"] * 4
    assert not uids(before).items() & uids(after).items()
    sets = await backend.all(REPLICA_SETS)
    sizes = {one["metadata"]["annotations"][REVISION]: one["spec"]["replicas"] for one in sets}
    assert sizes == {"1": 0, "2": 4}
    assert found["metadata"]["annotations"][REVISION] == "2"


async def test_recreate_takes_all_old_pods_first(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    body = deployment("w", 3)
    body["spec"]["strategy"] = {"type": "Recreate"}
    await up(backend, body)
    async with backend.recorded() as events:
        await backend.patch(DEPLOYMENTS, "w", new_image())
        await done(backend, 3)
        kinds = [event.type for event in events if event.type != "MODIFIED"]
    assert kinds == ["DELETED"] * 3 + ["ADDED"] * 3


async def test_a_rollout_that_does_not_get_ready_stands_still_and_can_be_undone(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    body = rolling(4, 1, 1)
    body["spec"]["progressDeadlineSeconds"] = 2
    await up(backend, body)
    never = new_image()
    container = never["spec"]["template"]["spec"]["containers"][0]
    container["readinessProbe"] = {"initialDelaySeconds": 600, "exec": {"command": ["true"]}}
    await backend.patch(DEPLOYMENTS, "w", never)
    stuck = await backend.until(
        lambda: backend.get(DEPLOYMENTS, "w"),
        lambda obj: conditions(obj)["Progressing"] == ("False", "ProgressDeadlineExceeded"),
    )
    assert conditions(stuck)["Available"] == ("True", "MinimumReplicasAvailable")
    counts = ("replicas", "updatedReplicas", "readyReplicas", "unavailableReplicas")
    assert [stuck["status"].get(name, 0) for name in counts] == [5, 2, 3, 2]

    await backend.patch(DEPLOYMENTS, "w", {"spec": {"template": body["spec"]["template"]}})
    back = await done(backend, 4)
    assert back["metadata"]["annotations"][REVISION] == "3"
    sets = await backend.all(REPLICA_SETS)
    found = {
        one["metadata"]["annotations"][REVISION]: (
            one["spec"]["replicas"],
            one["metadata"]["annotations"].get("deployment.kubernetes.io/revision-history"),
        )
        for one in sets
    }
    assert found == {"2": (0, None), "3": (4, "1")}


async def test_a_paused_deployment_scales_and_does_not_roll_out(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    await up(backend, deployment("w", 2))
    await backend.patch(DEPLOYMENTS, "w", {"spec": {"paused": True}})
    await backend.patch(DEPLOYMENTS, "w", new_image())
    await backend.patch(DEPLOYMENTS, "w", {"spec": {"replicas": 4}})
    found = await backend.until_status(DEPLOYMENTS, "w", replicas=4, readyReplicas=4)
    assert images(await backend.pods()) == ["1"] * 4
    assert conditions(found)["Progressing"] == ("Unknown", "DeploymentPaused")
    assert "updatedReplicas" not in found["status"]
    await backend.patch(DEPLOYMENTS, "w", {"spec": {"paused": False}})
    await done(backend, 4)
    assert images(await backend.until(backend.pods, lambda seen: len(seen) == 4)) == ["2"] * 4


async def test_a_scale_during_a_rollout_is_shared_by_the_replica_sets(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    await up(backend, rolling(10, 3, 2))
    never = new_image()
    container = never["spec"]["template"]["spec"]["containers"][0]
    container["readinessProbe"] = {"initialDelaySeconds": 600, "exec": {"command": ["true"]}}
    await backend.patch(DEPLOYMENTS, "w", never)

    async def sizes() -> list[int]:
        sets = await backend.all(REPLICA_SETS)
        sets.sort(key=lambda one: str(one["metadata"]["annotations"][REVISION]))
        return [one["spec"]["replicas"] for one in sets]

    await backend.until(sizes, lambda seen: seen == [8, 5])
    await backend.until_status(DEPLOYMENTS, "w", replicas=13)
    await backend.patch(DEPLOYMENTS, "w", {"spec": {"replicas": 15}})
    await backend.until(sizes, lambda seen: seen == [11, 7])
    await backend.until_status(DEPLOYMENTS, "w", replicas=18)
    await backend.patch(DEPLOYMENTS, "w", {"spec": {"replicas": 6}})
    # Shared as 5 and 4; then an old pod makes way for a new one.
    await backend.until(sizes, lambda seen: seen == [4, 5])


async def test_old_replica_sets_go_beyond_the_limit(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    body = deployment("w", 1)
    body["spec"]["revisionHistoryLimit"] = 1
    await up(backend, body)
    for image in ("2", "3"):
        await backend.patch(DEPLOYMENTS, "w", new_image(f"registry.example/main:{image}"))
        await done(backend, 1)

    async def revisions() -> list[str]:
        sets = await backend.all(REPLICA_SETS)
        return sorted(one["metadata"]["annotations"][REVISION] for one in sets)

    await backend.until(revisions, lambda seen: seen == ["2", "3"])


async def test_a_deployment_keeps_its_size(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await up(backend, deployment("w", 3))
    gone, failed, _ = names(await backend.pods())
    await backend.client.delete(PODS, gone, backend.namespace)
    await fail(backend, failed)
    after = await backend.until(
        backend.pods, lambda seen: gone not in names(seen) and len(seen) == 4
    )
    assert failed in names(after)
    await done(backend, 3)
    await backend.patch(DEPLOYMENTS, "w", {"spec": {"replicas": 0}})
    empty = await backend.until_status(DEPLOYMENTS, "w", replicas=0, terminatingReplicas=0)
    assert conditions(empty)["Available"] == ("True", "MinimumReplicasAvailable")
