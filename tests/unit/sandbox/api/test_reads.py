"""Reading one object and lists: versions, pages and moments."""

from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.transport import Request
from intact.sandbox import MemoryApi
from intact.sandbox.api.objects import decode, encode
from tests.support.objects import CONFIGMAPS, WIDGETS, configmap, widget


async def get(api: MemoryApi, path: str, **query: str) -> tuple[int, Any]:
    response = await api.send(Request("GET", path, query))
    return response.status, decode(response.body)


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


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"resourceVersionMatch": "Exact"}, "unless resourceVersion is provided"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, '"exact" is forbidden'),
    ],
)
async def test_a_version_match_that_makes_no_sense(
    api: MemoryApi, query: dict[str, str], why: str
) -> None:
    status, refused = await get(api, CONFIGMAPS.path("default"), **query)
    assert status == 422
    assert why in refused["message"]


@pytest.mark.parametrize("token", ["x", "e30"])
async def test_a_continue_token_that_is_none(api: MemoryApi, token: str) -> None:
    status, refused = await get(api, CONFIGMAPS.path("default"), **{"continue": token})
    assert status == 400
    assert refused["message"].startswith("invalid continue token")
