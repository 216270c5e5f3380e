"""Lists: label and field selectors, pages, order."""

import pytest

from intact.kube.errors import BadRequest
from tests.contract.backends import Backend
from tests.support.objects import CONFIGMAPS, PODS, Json, configmap, pod

LABELS: dict[str, dict[str, str]] = {
    "plain": {},
    "red": {"color": "red"},
    "blue": {"color": "blue", "size": "2"},
    "tall": {"size": "9"},
}

LABEL_CASES = [
    ("color=red", ["red"]),
    ("color==red", ["red"]),
    ("color!=red", ["blue", "plain", "tall"]),
    ("color", ["blue", "red"]),
    ("!color", ["plain", "tall"]),
    ("color in (red, blue)", ["blue", "red"]),
    ("color notin (red)", ["blue", "plain", "tall"]),
    ("color,size", ["blue"]),
    ("color=blue,size=2", ["blue"]),
    ("size>3", ["tall"]),
    ("size<3", ["blue"]),
    ("nobody=has", []),
]


def names(items: list[Json]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


@pytest.mark.parametrize(("selector", "expected"), LABEL_CASES, ids=[c[0] for c in LABEL_CASES])
async def test_a_label_selector_lists_the_matching_objects(
    backend: Backend, selector: str, expected: list[str]
) -> None:
    for name, labels in LABELS.items():
        await backend.client.create(
            CONFIGMAPS, configmap(name, labels={"mine": "yes", **labels}), backend.namespace
        )
    found = await backend.client.list(CONFIGMAPS, backend.namespace, labels=f"mine=yes,{selector}")
    assert names(found.items) == expected


@pytest.mark.parametrize("selector", ["=", "a in b", "a=b,,c", "-bad-=x", "a in (b"])
async def test_a_malformed_label_selector_is_refused(backend: Backend, selector: str) -> None:
    with pytest.raises(BadRequest):
        await backend.client.list(CONFIGMAPS, backend.namespace, labels=selector)


async def test_a_field_selector_lists_the_matching_pods(backend: Backend) -> None:
    for name, node in (("a", backend.node), ("b", backend.node), ("c", "")):
        body = pod(name, node=node) if node else pod(name, labels={"x": "y"})
        if not node:  # the scheduler must not assign one
            body["spec"]["schedulerName"] = "nobody"
        await backend.client.create(PODS, body, backend.namespace)
    for selector, expected in (
        (f"spec.nodeName={backend.node}", ["a", "b"]),
        (f"spec.nodeName={backend.node},metadata.name!=a", ["b"]),
        ("spec.nodeName=", ["c"]),
        ("status.phase=Pending", ["a", "b", "c"]),
        ("status.phase=Running", []),
        ("metadata.name=c", ["c"]),
        (f"metadata.namespace={backend.namespace}", ["a", "b", "c"]),
    ):
        found = await backend.client.list(PODS, backend.namespace, fields=selector)
        assert names(found.items) == expected, selector


async def test_a_selector_on_an_unknown_field_is_refused(backend: Backend) -> None:
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.mood"):
        await backend.client.list(PODS, backend.namespace, fields="spec.mood=good")


async def test_all_pages_of_a_list_show_the_same_moment(backend: Backend) -> None:
    for n in range(5):
        await backend.client.create(
            CONFIGMAPS, configmap(f"c{n}", labels={"mine": "yes"}), backend.namespace
        )
    pages = []
    async for page in backend.client.pages(
        CONFIGMAPS, backend.namespace, labels="mine=yes", limit=2
    ):
        pages.append(page)
        if len(pages) == 1:
            await backend.client.delete(CONFIGMAPS, "c4", backend.namespace)
            await backend.client.create(
                CONFIGMAPS, configmap("c9", labels={"mine": "yes"}), backend.namespace
            )
    assert [names(page.items) for page in pages] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert len({page.resource_version for page in pages}) == 1


async def test_a_list_of_nothing_is_empty_and_has_a_version(backend: Backend) -> None:
    found = await backend.client.list(PODS, backend.namespace)
    assert found.items == []
    assert int(found.resource_version) > 0


async def test_items_come_in_the_order_of_their_names(backend: Backend) -> None:
    for name in ("b", "a", "c"):
        await backend.client.create(
            CONFIGMAPS, configmap(name, labels={"mine": "yes"}), backend.namespace
        )
    found = await backend.client.list(CONFIGMAPS, backend.namespace, labels="mine=yes")
    assert names(found.items) == ["a", "b", "c"]
