"""The server as a whole: what the contract does not cover."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict, Invalid, NotFound, Unreachable
from intact.kube.transport import Request
from intact.sandbox import Kind, MemoryApi, Rule, run
from intact.sandbox.api.objects import Json, decode, encode
from tests.support.objects import (
    CONFIGMAPS,
    DEPLOYMENTS,
    PODS,
    WIDGETS,
    configmap,
    deployment,
    pod,
    widget,
)


async def get(api: MemoryApi, path: str, **query: str) -> tuple[int, Any]:
    response = await api.send(Request("GET", path, query))
    return response.status, decode(response.body)


async def test_discovery(api: MemoryApi) -> None:
    _, version = await get(api, "/version")
    assert (version["major"], version["minor"]) == ("1", "36")
    _, groups = await get(api, "/apis")
    names = [group["name"] for group in groups["groups"]]
    assert {"apps", "policy", WIDGETS.group} <= set(names)
    assert names == sorted(names)
    _, resources = await get(api, f"/apis/{WIDGETS.group}/v1")
    served = {each["name"]: each for each in resources["resources"]}
    assert list(served) == ["widgets", "widgets/status", "widgets/scale"]
    assert "watch" in served["widgets"]["verbs"]
    assert (served["widgets/scale"]["group"], served["widgets/scale"]["kind"]) == (
        "autoscaling",
        "Scale",
    )
    _, group = await get(api, f"/apis/{WIDGETS.group}")
    assert [each["version"] for each in group["versions"]] == ["v1", "v1beta1"]
    _, core = await get(api, "/api/v1")
    evictions = [each for each in core["resources"] if each["name"] == "pods/eviction"]
    assert [each["verbs"] for each in evictions] == [["create"]]


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health(api: MemoryApi, path: str) -> None:
    response = await api.send(Request("GET", path))
    assert (response.status, response.body) == (200, b"ok")


@pytest.mark.parametrize("path", ["/apis/nothing.dev/v1/things", "/apis/nothing.dev/v1", "/x"])
async def test_outside_of_every_group_the_answer_is_plain_text(api: MemoryApi, path: str) -> None:
    response = await api.send(Request("GET", path))
    assert (response.status, response.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/namespaces/default/things", 404),
        ("GET", "/api/v1/namespaces/default/pods/p/log", 404),
        ("GET", "/api/v1/pods/p", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v2/pods", 404),
        ("POST", "/api/v1/pods", 405),
        ("POST", "/api/v1/namespaces/default/pods/p", 405),
        ("PUT", "/api/v1/namespaces/default/pods", 405),
        ("GET", "/api/v1/namespaces/default/pods/p/eviction", 405),
        ("DELETE", "/api/v1/namespaces/default/pods/p/status", 405),
    ],
)
async def test_where_nothing_is_served(api: MemoryApi, method: str, path: str, status: int) -> None:
    response = await api.send(Request(method, path, body=b"{}" if method != "GET" else b""))
    assert (response.status, decode(response.body)["code"]) == (status, status)


async def test_every_version_shows_the_same_objects(api: MemoryApi, client: Client) -> None:
    await client.create(WIDGETS, widget("w"), "default")
    base = f"/apis/{WIDGETS.group}/v1beta1/namespaces/default/widgets"
    _, shown = await get(api, f"{base}/w")
    assert shown["apiVersion"] == f"{WIDGETS.group}/v1beta1"
    _, listed = await get(api, base)
    assert [item["apiVersion"] for item in listed["items"]] == [f"{WIDGETS.group}/v1beta1"]
    body = encode({**shown, "spec": {"size": 2}})
    response = await api.send(Request("PUT", f"{base}/w", body=body))
    assert decode(response.body)["apiVersion"] == f"{WIDGETS.group}/v1beta1"
    stored = await client.get(WIDGETS, "w", "default")
    assert (stored["apiVersion"], stored["spec"]) == (WIDGETS.api_version, {"size": 2})


async def test_items_of_built_in_kinds_leave_their_type_to_the_list(
    api: MemoryApi, client: Client
) -> None:
    await client.create(CONFIGMAPS, configmap("c"), "default")
    await client.create(WIDGETS, widget("w"), "default")
    _, maps = await get(api, CONFIGMAPS.path("default"))
    _, widgets = await get(api, WIDGETS.path("default"))
    assert "kind" not in maps["items"][0]
    assert widgets["items"][0]["kind"] == "Widget"


async def test_scale(api: MemoryApi, client: Client) -> None:
    await client.create(DEPLOYMENTS, deployment("d", replicas=2), "default")
    scale = await client.get(DEPLOYMENTS, "d", "default", subresource="scale")
    assert scale["apiVersion"] == "autoscaling/v1"
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 0, "selector": "app=d"}
    await client.patch(DEPLOYMENTS, {"spec": {"replicas": 5}}, "d", "default", subresource="scale")
    with pytest.raises(Conflict):
        await client.update(DEPLOYMENTS, scale, "d", "default", subresource="scale")
    found = await client.get(DEPLOYMENTS, "d", "default")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)


async def test_scaling_is_asked_about_as_a_scale(api: MemoryApi, client: Client) -> None:
    asked: list[Json] = []

    async def hook(request: Json) -> Json:
        asked.append(request)
        return {"allowed": True}

    await client.create(WIDGETS, widget("w"), "default")
    api.admit("h", hook, [Rule(("widgets/scale",))])
    await client.patch(WIDGETS, {"spec": {"replicas": 3}}, "w", "default", subresource="scale")
    [request] = asked
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (request["oldObject"]["spec"], request["object"]["spec"]) == ({}, {"replicas": 3})
    assert (await client.get(WIDGETS, "w", "default"))["spec"] == {"size": 1, "replicas": 3}


async def test_a_negative_scale_is_invalid(client: Client) -> None:
    await client.create(WIDGETS, widget("w"), "default")
    with pytest.raises(Invalid, match="should be a non-negative integer"):
        await client.patch(WIDGETS, {"spec": {"replicas": -1}}, "w", "default", subresource="scale")


async def test_resize_changes_resources_and_nothing_else(client: Client) -> None:
    await client.create(PODS, pod("p", node="n"), "default")
    patch: Json = {
        "metadata": {"labels": {"ignored": "yes"}},
        "spec": {
            "nodeName": "ignored",
            "containers": [
                {"name": "main", "image": "ignored", "resources": {"requests": {"cpu": "2"}}}
            ],
        },
    }
    resized = await client.patch(
        PODS, patch, "p", "default", type=PatchType.STRATEGIC, subresource="resize"
    )
    assert resized["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert resized["spec"]["containers"][0]["image"] == "registry.example/main:1"
    assert resized["spec"]["nodeName"] == "n"
    assert "labels" not in resized["metadata"]
    assert resized["metadata"]["generation"] == 2


async def test_managed_fields_can_be_left_out() -> None:
    client = Client(MemoryApi(managed_fields=False))
    made = await client.create(CONFIGMAPS, configmap("c", {"k": "v"}), "default")
    assert "managedFields" not in made["metadata"]
    applied = await client.patch(
        CONFIGMAPS,
        configmap("c", {"k": "w"}),
        "c",
        "default",
        type=PatchType.APPLY,
        field_manager="m",
    )
    assert applied["data"] == {"k": "w"}


async def test_pages_show_one_moment(api: MemoryApi, client: Client) -> None:
    for name in "abcde":
        await client.create(CONFIGMAPS, configmap(name), "default")
    pages = client.pages(CONFIGMAPS, "default", limit=2)
    first = await anext(pages)
    await client.delete(CONFIGMAPS, "d", "default")
    await client.create(CONFIGMAPS, configmap("cc"), "default")
    rest = [page async for page in pages]
    names = [item["metadata"]["name"] for page in (first, *rest) for item in page.items]
    assert names == ["a", "b", "c", "d", "e"]
    assert {page.resource_version for page in rest} == {first.resource_version}


async def test_an_expired_page_can_be_continued_from_the_present(
    api: MemoryApi, client: Client
) -> None:
    for name in "abc":
        await client.create(CONFIGMAPS, configmap(name), "default")
    path = CONFIGMAPS.path("default")
    _, first = await get(api, path, limit="1")
    assert first["metadata"]["remainingItemCount"] == 2
    await client.create(CONFIGMAPS, configmap("d"), "default")
    api.faults.expire()
    status, gone = await get(api, path, limit="1", **{"continue": first["metadata"]["continue"]})
    assert (status, gone["reason"]) == (410, "Expired")
    _, rest = await get(api, path, **{"continue": gone["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]


async def test_versions_of_lists(api: MemoryApi, client: Client) -> None:
    await client.create(CONFIGMAPS, configmap("a"), "default")
    then = str(api.revision)
    await client.create(CONFIGMAPS, configmap("b"), "default")
    path = CONFIGMAPS.path("default")

    async def names(**query: str) -> list[str]:
        _, listed = await get(api, path, **query)
        return [item["metadata"]["name"] for item in listed["items"]]

    assert await names(resourceVersion=then) == ["a", "b"]
    assert await names(resourceVersion=then, resourceVersionMatch="Exact") == ["a"]
    assert await names(resourceVersion=then, limit="5") == ["a"]
    status, refused = await get(api, path, resourceVersion=str(api.revision + 1))
    assert (status, refused["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    api.faults.expire()
    await client.create(CONFIGMAPS, configmap("c"), "default")
    status, gone = await get(api, path, resourceVersion=then, resourceVersionMatch="Exact")
    assert (status, gone["reason"]) == (410, "Expired")


async def test_a_put_makes_a_lease_that_is_not_there(api: MemoryApi) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    body = b'{"metadata":{"name":"l"},"spec":{}}'
    assert (await api.send(Request("PUT", path, body=body))).status == 201
    assert (await api.send(Request("PUT", path, body=body))).status == 422


async def test_secrets_take_plain_text(api: MemoryApi) -> None:
    body = b'{"metadata":{"name":"s"},"stringData":{"k":"value"}}'
    response = await api.send(Request("POST", "/api/v1/namespaces/default/secrets", body=body))
    made = decode(response.body)
    assert (made["type"], made["data"]) == ("Opaque", {"k": "dmFsdWU="})
    assert "stringData" not in made


def test_a_request_that_takes_too_long_is_unreachable() -> None:
    async def main() -> float:
        api = MemoryApi()

        async def slow(_request: Json) -> Json:
            await asyncio.sleep(60)
            return {"allowed": True}

        api.admit("h", slow, [Rule(("configmaps",))], timeout=100)
        body = b'{"metadata":{"name":"c"}}'
        with pytest.raises(Unreachable, match="no answer in time") as caught:
            await api.send(Request("POST", CONFIGMAPS.path("default"), body=body, timeout=5))
        assert caught.value.sent
        return asyncio.get_running_loop().time()

    assert run(main()) == 5


def test_patches_never_conflict_and_swaps_do() -> None:
    """Many writers at once: each patch counts, and one swap of a version wins."""

    async def main() -> int:
        api = MemoryApi()
        api.register(Kind(WIDGETS.group, WIDGETS.version, WIDGETS.plural, WIDGETS.kind))
        client = Client(api)
        made = await client.create(WIDGETS, widget("w"), "default")

        async def patch(number: int) -> None:
            await client.patch(WIDGETS, {"spec": {f"n{number}": number}}, "w", "default")

        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(patch(number))
        patched = await client.get(WIDGETS, "w", "default")
        assert len(patched["spec"]) == 9
        assert patched["metadata"]["generation"] == made["metadata"]["generation"] + 8

        async def swap(number: int) -> bool:
            try:
                await client.update(WIDGETS, patched | {"spec": {"by": number}}, "w", "default")
            except Conflict:
                return False
            return True

        swapped = await asyncio.gather(*(swap(number) for number in range(8)))
        return sum(swapped)

    assert {run(main(), seed=seed) for seed in range(15)} == {1}


def test_appliers_of_one_new_object_do_not_meet_already_exists() -> None:
    async def main() -> Json:
        client = Client(MemoryApi())

        async def apply(manager: str) -> None:
            await client.patch(
                CONFIGMAPS,
                configmap("c", {manager: "x"}),
                "c",
                "default",
                type=PatchType.APPLY,
                field_manager=manager,
            )

        async with asyncio.TaskGroup() as group:
            for manager in ("a", "b", "c"):
                group.create_task(apply(manager))
        data: Json = (await client.get(CONFIGMAPS, "c", "default"))["data"]
        return data

    for seed in range(15):
        assert run(main(), seed=seed) == {"a": "x", "b": "x", "c": "x"}


async def test_reading_past_the_api(api: MemoryApi, client: Client) -> None:
    made = await client.create(WIDGETS, widget("w"), "default")
    assert api.peek(WIDGETS.full_name, "default", "w") == made
    assert api.peek(WIDGETS.full_name, "default", "x") is None
    assert list(api.objects(WIDGETS.full_name, "kube-system")) == []
    assert api.revision == int(made["metadata"]["resourceVersion"])


def test_one_seed_one_course_of_events() -> None:
    async def main() -> list[str]:
        client = Client(MemoryApi(seed=4))
        body = {**configmap("x"), "metadata": {"generateName": "x-"}}
        made = [await client.create(CONFIGMAPS, body, "default") for _ in range(3)]
        with pytest.raises(NotFound):
            await client.get(CONFIGMAPS, "x-", "default")
        return [f"{each['metadata']['name']} {each['metadata']['uid']}" for each in made]

    first = run(main(), seed=1)
    assert len(set(first)) == 3
    assert run(main(), seed=9) == first
