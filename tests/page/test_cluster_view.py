"""Groups and nodes in a browser: the filter, the keyboard, wide and narrow, light and dark."""

import asyncio
from itertools import product
from pathlib import Path
from typing import Literal

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster
from intact.kube.resources import NODES
from tests.page.served import served
from tests.support.browser import Browser, Visit
from tests.support.pictures import pod

COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDER_THAN_THE_SCREEN = "document.documentElement.scrollWidth > innerWidth"
CUT = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
BROKEN = """all => all.filter(one => {
    const text = document.createRange(); text.selectNodeContents(one);
    return text.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(one).lineHeight)
}).map(one => one.innerText)"""


async def groups_of(visit: Visit) -> list[str | None]:
    rows = visit.page.locator("table.groups tr.up, table.groups tr.down")
    return [await row.get_attribute("data-key") for row in await rows.all()]


async def test_what_is_down_comes_first(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        assert await groups_of(visit) == ["llm/s1", "llm/s0", "llm/pdb/llm-pods"]
        assert await visit.page.locator("h1").inner_text() == "2 groups, 1 down 4 pods on 1 node"


FILTERS = [
    ("text", "s0", ["llm/pdb/llm-pods", "llm/s0"]),  # a pod of the first is called so
    ("text", "S1-1", ["llm/s1", "llm/pdb/llm-pods"]),
    ("budget", "pub/llm", ["llm/s1", "llm/s0"]),
    ("namespace", "llm", ["llm/s1", "llm/s0", "llm/pdb/llm-pods"]),
    ("namespace", "other", []),
    ("node", "node-0", ["llm/s1", "llm/s0", "llm/pdb/llm-pods"]),
    ("node", "node-9", []),
]


async def test_the_filter(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        for field, text, left in FILTERS:
            await visit.page.goto(page.address)
            box = visit.page.get_by_label(field, exact=True)
            await box.fill(text)
            await visit.page.keyboard.press("Enter")
            await visit.page.wait_for_url(f"**{field}=*")
            assert await groups_of(visit) == left, (field, text)
            await visit.page.reload()  # the filter is in the address
            assert await groups_of(visit) == left, (field, text)
            assert await box.input_value() == text
        assert await visit.complaints() == []


async def test_by_the_keyboard_from_the_cluster_to_the_reasons_of_a_pod(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        keyboard = visit.page.keyboard
        await keyboard.press("Tab")
        assert await visit.page.locator(":focus").inner_text() == "To the view"
        await keyboard.press("Enter")
        for _ in range(30):
            await keyboard.press("Tab")
            if await visit.page.locator(":focus").get_attribute("aria-label") == "s1-1: unready":
                break
        await keyboard.press("Enter")
        await visit.page.wait_for_url("**/why/pod/llm/s1-1")
        assert "pod s1-1 in llm" in await visit.page.locator("h1").inner_text()
        assert await visit.complaints() == []


async def test_no_view_scrolls_sideways(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster):
        for width, colours in product((390, 1280), COLOURS):
            async with browser.opened(page.address, width, 844, colours) as visit:
                for view in ("", "budgets/pub/llm/llm", "drains", "rollouts", "why/pod/llm/s1-1"):
                    await visit.page.goto(page.address + view)
                    assert not await visit.page.evaluate(WIDER_THAN_THE_SCREEN), (view, width)
                    assert await visit.page.eval_on_selector_all("pre", CUT) == []
                    assert await visit.page.eval_on_selector_all("td.state", BROKEN) == []
                paper = "getComputedStyle(document.body).backgroundColor"
                is_dark = await visit.page.evaluate(paper) != "rgb(255, 255, 255)"
                assert is_dark == (colours == "dark")
                assert await visit.complaints() == []


async def test_long_names_are_broken_and_nothing_scrolls_sideways(
    browser: Browser, tmp_path: Path
) -> None:
    """As long as Kubernetes lets them be, and a context as it is called on EKS."""
    name, group, node = "p" * 253, "g" * 63, f"{'n' * 63}.{'m' * 63}"
    async with served(tmp_path) as (_page, cluster):
        await cluster.pods(pod(name, group=group, node=node, ready=False))
        await cluster.client.create(NODES, {"metadata": {"name": node}})
        title = "arn:aws:eks:eu-west-1:123456789012:cluster/production-inference"
        page = Dashboard(LiveCluster(cluster.client, title))
        views = (
            "",
            f"why/pod/llm/{name}",
            f"why/group/llm/{group}",
            f"why/node/{node}",
            "budgets/pub/llm/llm",
        )
        async with page.serving():
            for width in (390, 1280):
                async with browser.opened(page.address, width) as visit:
                    for view in views:
                        answer = await visit.page.goto(page.address + view)
                        assert answer is not None
                        assert answer.status == 200, view
                        assert not await visit.page.evaluate(WIDER_THAN_THE_SCREEN), (view, width)
                    await visit.page.goto(page.address)
                    row = visit.page.locator(f"tr.down[data-key='llm/{group}'] td")
                    box = await row.first.bounding_box()
                    assert box is not None
                    assert box["width"] < width / 2


async def test_many_pods_on_a_node_take_several_lines(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, cluster):
        await cluster.pods(*(pod(f"many-{number}") for number in range(64)))
        await asyncio.sleep(1.0)
        for width in (390, 1280):
            async with browser.opened(page.address, width) as visit:
                tables = await visit.page.eval_on_selector_all(".wide", CUT)
                assert width == 390 or tables == []
                box = await visit.page.locator("table.groups").bounding_box()
                assert box is not None
                assert box["width"] < 1.5 * width


async def test_marks_differ_by_shape_not_only_by_colour(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        shape = """all => all.map(one => { const style = getComputedStyle(one);
            return [style.borderRadius, style.borderStyle, style.backgroundImage
                .replace(/rgba?\\([^)]*\\)/g, "")].join(" ") })"""
        shapes = await visit.page.eval_on_selector_all(".legend .pod", shape)
        assert len(shapes) == len(set(shapes)) == 5


async def test_the_filter_is_told_of_where_it_is(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        for view in ("", "drains", "rollouts", "why/pod/llm/s1-1"):
            await visit.page.goto(page.address + view)
            told = await visit.page.locator("footer kbd").count()
            assert told == await visit.page.locator("[type=search]").count(), view
