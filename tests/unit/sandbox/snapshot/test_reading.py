"""A snapshot of a cluster is read in pages; what may not be read is named in it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.kube.transport import Request, Response, Stream
from intact.sandbox import DEFAULT_KINDS, Kind, MemoryApi, Scale
from intact.sandbox.snapshot.anonymous import anonymized
from intact.sandbox.snapshot.document import Snapshot
from intact.sandbox.snapshot.reading import take
from tests.support.objects import DEPLOYMENTS, NAMESPACES, NODES, PODS, deployment, pod
from tests.support.small_clusters import NOW

JOBS = untyped("train.example", "v1", "trainings", "Training")
REGISTRATIONS = untyped(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
CLASSES = untyped("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")


class Recording:
    """Passes requests on, and keeps them; answers 403 to some paths."""

    def __init__(self, api: MemoryApi, forbidden: Sequence[str] = ()) -> None:
        self.requests: list[Request] = []
        self._api = api
        self._forbidden = forbidden

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if request.path in self._forbidden:
            return Response(403, b'{"kind": "Status", "code": 403, "message": "no"}')
        return await self._api.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._api.stream(request)

    async def close(self) -> None:
        pass


@pytest.fixture
def api() -> MemoryApi:
    training = Kind(JOBS.group, "v1", JOBS.plural, JOBS.kind, scale=Scale())
    return MemoryApi([*DEFAULT_KINDS, training])


async def taken(api: MemoryApi, forbidden: Sequence[str] = ()) -> tuple[Snapshot, Recording]:
    transport = Recording(api, forbidden)
    return await take(Client(transport), lambda: NOW), transport


async def test_objects_have_their_type_and_the_file_its_origin(api: MemoryApi) -> None:
    client = Client(api)
    await client.create(NODES, {"metadata": {"name": "node-0"}})
    await client.create(PODS, pod("web-0", node="node-0"), "default")
    found, _ = await taken(api)
    assert (found.time, found.server_version, found.intact) == (NOW, "v1.36.3", False)
    [web] = found.of("pods")
    assert (web["apiVersion"], web["kind"], web["spec"]["nodeName"]) == ("v1", "Pod", "node-0")
    assert [each["metadata"]["name"] for each in found.of("nodes")] == ["node-0"]
    assert len(found.of("namespaces")) == 2
    assert found.unreadable == []


async def test_it_only_reads_and_in_pages(api: MemoryApi) -> None:
    client = Client(api)
    for number in range(501):
        await client.create(PODS, pod(f"web-{number}"), "default")
    found, transport = await taken(api)
    assert len(found.of("pods")) == 501
    assert {each.method for each in transport.requests} == {"GET"}
    lists = [each for each in transport.requests if each.path == "/api/v1/pods"]
    assert [each.query.get("limit") for each in lists] == ["500", "500"]
    assert "secrets" not in {each.path.rpartition("/")[2] for each in transport.requests}


async def test_what_is_forbidden_is_named_and_the_rest_is_read(api: MemoryApi) -> None:
    await Client(api).create(PODS, pod("web-0"), "default")
    found, _ = await taken(api, ["/api/v1/nodes", "/apis/apps/v1/deployments"])
    assert [(each.resource, each.why) for each in found.unreadable] == [
        ("nodes", "forbidden"),
        ("deployments.apps", "forbidden"),
    ]
    assert len(found.of("pods")) == 1


async def test_owners_of_unknown_kinds_are_read_with_their_scale(api: MemoryApi) -> None:
    client = Client(api)
    spec = {"replicas": 2, "password": "hunter2"}
    body = {"apiVersion": "train.example/v1", "kind": "Training", "spec": spec}
    owner = await client.create(JOBS, body | {"metadata": {"name": "train"}}, "default")
    reference = {
        "apiVersion": "train.example/v1",
        "kind": "Training",
        "name": "train",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    await client.create(PODS, pod("train-0", ownerReferences=[reference]), "default")
    found, _ = await taken(api)
    [kind] = [each for each in found.kinds if each.kind == "Training"]
    assert (kind.full_name, kind.scaled) == ("trainings.train.example", True)
    [training] = found.of("trainings.train.example")
    assert training["spec"] == {"replicas": 2}


@pytest.mark.parametrize("forbidden", [False, True])
async def test_whether_intact_is_there(api: MemoryApi, forbidden: bool) -> None:
    await Client(api).create(REGISTRATIONS, {"metadata": {"name": "intact"}})
    paths = [f"{REGISTRATIONS.path()}/intact"] if forbidden else []
    found, transport = await taken(api, paths)
    assert found.intact is (None if forbidden else True)
    asked = [each.path for each in transport.requests if "admissionregistration" in each.path]
    assert all(each.endswith("/intact") for each in asked)


async def test_replica_sets_of_the_past_are_left_out(api: MemoryApi) -> None:
    client = Client(api)
    owner = await client.create(
        untyped("apps", "v1", "deployments", "Deployment"), deployment("web", 2), "default"
    )
    for number, replicas in enumerate((0, 1, 0, 0), 1):
        body = deployment(f"web-{number}", replicas) | {"kind": "ReplicaSet"}
        body["metadata"] |= {
            "annotations": {"deployment.kubernetes.io/revision": str(number)},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True,
                 "uid": owner["metadata"]["uid"]}
            ],
        }  # fmt: skip
        await client.create(REPLICA_SETS, body, "default")
    found, _ = await taken(api)
    kept = [each["metadata"]["name"] for each in found.of("replicasets.apps")]
    assert kept == ["web-2", "web-4"]


async def test_namespaces_keep_their_labels(api: MemoryApi) -> None:
    labels = {"intact.dev/gated": "true"}
    await Client(api).create(NAMESPACES, {"metadata": {"name": "shop", "labels": labels}})
    found, _ = await taken(api)
    [shop] = [each for each in found.of("namespaces") if each["metadata"]["name"] == "shop"]
    assert shop["metadata"]["labels"].items() >= labels.items()


async def test_new_pods_have_the_priority_of_their_class(api: MemoryApi) -> None:
    client = Client(api)
    high = {"metadata": {"name": "high"}, "value": 1000, "description": "of the shop"}
    await client.create(CLASSES, high)
    web = deployment("web", 1)
    web["spec"]["template"]["spec"]["priorityClassName"] = "high"
    await client.create(DEPLOYMENTS, web, "default")
    found, _ = await taken(api)
    for snapshot in (found, anonymized(found)):
        [kept] = snapshot.of("priorityclasses.scheduling.k8s.io")
        [made] = snapshot.of("deployments.apps")
        assert (kept["value"], "description" in kept) == (1000, False)
        assert made["spec"]["template"]["spec"]["priorityClassName"] == kept["metadata"]["name"]
