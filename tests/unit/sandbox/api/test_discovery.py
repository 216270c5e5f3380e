"""What the server says about itself and the kinds that it serves."""

from typing import Any

from intact.kube.transport import Request
from intact.sandbox import MemoryApi
from intact.sandbox.api.objects import decode
from tests.support.objects import WIDGETS


async def get(api: MemoryApi, path: str, **query: str) -> tuple[int, Any]:
    response = await api.send(Request("GET", path, query))
    return response.status, decode(response.body)


async def test_groups_versions_resources_and_subresources_are_listed(api: MemoryApi) -> None:
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


async def test_a_group_that_is_not_served_is_not_found(api: MemoryApi) -> None:
    for path in ("/apis/nobody.dev", "/apis/apps/v9", "/api/v9"):
        assert (await api.send(Request("GET", path))).status == 404
