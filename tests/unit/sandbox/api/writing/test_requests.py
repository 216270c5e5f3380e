"""The bodies of requests. What patches do is in the contract, tests/contract/test_patch.py."""

import pytest

from intact.kube.transport import Request
from intact.sandbox import MemoryApi
from intact.sandbox.api.objects import Json, decode, encode
from tests.support.objects import CONFIGMAPS, WIDGETS, configmap, widget

MAPS = CONFIGMAPS.path("default")


async def sent(
    api: MemoryApi,
    method: str,
    path: str,
    body: bytes,
    content_type: str = "application/json",
    **query: str,
) -> tuple[int, Json]:
    response = await api.send(Request(method, path, query, body, content_type))
    return response.status, decode(response.body)


@pytest.mark.parametrize(
    ("body", "status"), [(b"", 415), (b"{", 400), (b"[]", 400), (b'{"kind":"Pod"}', 400)]
)
async def test_a_body_that_is_no_such_object(api: MemoryApi, body: bytes, status: int) -> None:
    assert (await sent(api, "POST", MAPS, body))[0] == status


@pytest.mark.parametrize(
    ("content_type", "body", "query", "status"),
    [
        ("application/json", b"{}", {}, 415),
        ("application/json-patch+json", b"{}", {}, 400),
        ("application/merge-patch+json", b"[]", {}, 400),
        ("application/strategic-merge-patch+json", b"[]", {}, 400),
        ("application/merge-patch+json", b"{}", {"force": "true"}, 422),
        ("application/apply-patch+yaml", b"{}", {}, 422),
        ("application/apply-patch+yaml", b"{}", {"fieldManager": "m"}, 400),
        ("application/merge-patch+json; charset=utf-8", b'{"data":{"k":"v"}}', {}, 200),
    ],
)
async def test_patches_that_are_taken_or_not(
    api: MemoryApi, content_type: str, body: bytes, query: dict[str, str], status: int
) -> None:
    await sent(api, "POST", MAPS, encode(configmap("c")))
    assert (await sent(api, "PATCH", f"{MAPS}/c", body, content_type, **query))[0] == status


async def test_a_patch_may_not_make_an_object_into_another_kind(api: MemoryApi) -> None:
    path = WIDGETS.path("default")
    await sent(api, "POST", path, encode(widget("w")))
    merge = "application/merge-patch+json"
    status, refused = await sent(api, "PATCH", f"{path}/w", b'{"kind":"Gadget"}', merge)
    assert status == 422
    assert 'no kind "Gadget" is registered' in refused["message"]


async def test_nulls_of_a_built_in_object_are_dropped(api: MemoryApi) -> None:
    body = encode(configmap("c") | {"data": {"k": "v", "x": None}})
    status, made = await sent(api, "POST", MAPS, body)
    assert (status, made["data"]) == (201, {"k": "v"})
