"""LeaderWorkerSets without their controller: the CRD, and a small controller in its place."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import AlreadyExists, KubeError, NotFound
from intact.operator.install.install import CRDS
from tests.support.objects import PODS, Json, definition
from tests.support.rbg_waiting import SETS

GROUP_KEY = "leaderworkerset.sigs.k8s.io/group-key"
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
SET_NAME = "leaderworkerset.sigs.k8s.io/name"
SIZE = "leaderworkerset.sigs.k8s.io/size"
REVISION = "leaderworkerset.sigs.k8s.io/template-revision-hash"


async def install_sets(client: Client) -> None:
    """Return once the API server serves them."""
    with suppress(AlreadyExists):
        await client.create(CRDS, definition(SETS, scale=True))
    async with asyncio.timeout(60):
        while SETS.plural not in await served_resources(client, SETS.api_version):
            await asyncio.sleep(0.05)


async def remove_sets(client: Client) -> None:
    with suppress(NotFound):
        await client.delete(CRDS, SETS.full_name)
    async with asyncio.timeout(180):
        while True:
            try:
                await client.get(CRDS, SETS.full_name)
            except NotFound:
                return
            await asyncio.sleep(0.1)


@asynccontextmanager
async def simulated_sets(
    client: Client, namespace: str, *, observed_generation: bool = True
) -> AsyncGenerator[None, None]:
    """Plays the controller: creates replicas of a leader and its workers, and updates one replica
    at a time, from the highest index down to the partition. With `observed_generation` it writes
    that into the status."""
    playing = asyncio.create_task(_play(client, namespace, observed_generation=observed_generation))
    try:
        yield
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


async def _play(client: Client, namespace: str, *, observed_generation: bool) -> None:
    while True:
        with suppress(KubeError):
            for each in (await client.list(SETS, namespace)).items:
                await _reconcile(client, namespace, each, observed_generation=observed_generation)
        await asyncio.sleep(0.1)


async def _reconcile(
    client: Client, namespace: str, each: Json, *, observed_generation: bool
) -> None:
    name, spec = each["metadata"]["name"], each["spec"]
    template, replicas = spec["leaderWorkerTemplate"], spec["replicas"]
    rolling = spec.get("rolloutStrategy", {}).get("rollingUpdateConfiguration", {"partition": 0})
    page = await client.list(PODS, namespace, labels=f"{SET_NAME}={name}")
    groups: dict[int, list[Json]] = {}
    for pod in page.items:
        groups.setdefault(int(pod["metadata"]["labels"][GROUP_INDEX]), []).append(pod)
    settled = all(
        len(groups.get(index, [])) == template["size"] and all(map(_is_ready, groups[index]))
        for index in range(replicas)
    )
    for index in sorted({*groups, *range(replicas)}, reverse=True):
        pods = groups.get(index, [])
        if index >= replicas:
            await _delete(client, pods)
        elif any(_is_outdated(template, pod) for pod in pods):
            if index >= rolling["partition"] and settled:
                await _delete(client, pods)
                settled = False
        else:
            await _fill(client, namespace, each, index, pods)
    status = {"replicas": replicas}
    if observed_generation:
        status["observedGeneration"] = each["metadata"]["generation"]
    if each.get("status") != status:
        await client.patch(SETS, {"status": status}, name, namespace, subresource="status")


def _is_outdated(template: Json, pod: Json) -> bool:
    labels = pod["metadata"]["labels"]
    return not _labels(_template_of(template, labels[WORKER_INDEX])).items() <= labels.items()


def _template_of(template: Json, worker: str) -> Json:
    """Of a pod by its index. A set without a template for leaders takes that of the workers."""
    found: Json = template["workerTemplate"]
    return template.get("leaderTemplate", found) if worker == "0" else found


def _labels(template: Json) -> dict[str, str]:
    found: dict[str, str] = template["metadata"]["labels"]
    return found


def _is_ready(pod: Json) -> bool:
    conditions: list[Json] = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


async def _fill(client: Client, namespace: str, each: Json, index: int, pods: list[Json]) -> None:
    name, template = each["metadata"]["name"], each["spec"]["leaderWorkerTemplate"]
    have = {pod["metadata"]["name"] for pod in pods}
    for worker in range(template["size"]):
        pod_name = f"{name}-{index}" if worker == 0 else f"{name}-{index}-{worker}"
        if pod_name in have:
            continue
        body = _template_of(template, str(worker))
        own = {
            SET_NAME: name,
            GROUP_KEY: f"{name}-{index}",
            GROUP_INDEX: str(index),
            WORKER_INDEX: str(worker),
        }
        owner = {
            "apiVersion": SETS.api_version,
            "kind": SETS.kind,
            "name": name,
            "uid": each["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            **body["metadata"],
            "name": pod_name,
            "labels": {**_labels(body), **own},
            "annotations": body["metadata"].get("annotations", {}) | {SIZE: str(template["size"])},
            "ownerReferences": [owner],
        }
        with suppress(AlreadyExists):
            await client.create(PODS, {"metadata": metadata, "spec": body["spec"]}, namespace)


async def _delete(client: Client, pods: list[Json]) -> None:
    for pod in pods:
        meta = pod["metadata"]
        if "deletionTimestamp" not in meta:
            with suppress(NotFound):
                await client.delete(PODS, meta["name"], meta["namespace"])
