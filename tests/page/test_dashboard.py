"""The page in a browser."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster, from_file
from intact.kube.resources import NODES
from tests.support.browser import Browser
from tests.support.objects import PODS
from tests.support.pictures import pdb, pod, pub
from tests.unit.cli.inhabited import Inhabited, inhabited
from tests.unit.sandbox.rehearsal.filmed import groups, recorded

MARKUP = "<b>bold</b>"


@asynccontextmanager
async def served(directory: Path) -> AsyncGenerator[tuple[Dashboard, Inhabited]]:
    """Two groups of two pods, and a node."""
    pods = [
        pod(f"s{shard}-{number}", group=f"s{shard}", ready=(shard, number) != (1, 1))
        for shard in range(2)
        for number in range(2)
    ]
    async with inhabited(directory, *pods, pdbs=[pdb()], pubs=[pub()], intact=True) as cluster:
        await cluster.client.create(NODES, {"metadata": {"name": "node-0"}})
        page = Dashboard(LiveCluster(cluster.client, MARKUP))
        async with page.serving():
            yield page, cluster


async def test_a_change_of_a_pod_is_seen_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        shown = visit.page.locator("tr.down")
        assert await shown.count() == 1
        assert "s1" in await shown.inner_text()
        await visit.page.evaluate("window.same = true")
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await cluster.client.patch(PODS, ready, "s1-1", "llm", subresource="status")
        await visit.page.wait_for_selector("tr.down", state="detached")
        assert await visit.page.evaluate("window.same")
        assert await visit.complaints() == []


async def test_each_view_by_clicks(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        at = visit.page
        await at.get_by_role("link", name="s1-1: unready").first.click()
        assert "pod s1-1" in await at.locator("h1").inner_text()
        for name, title in (("Drains", "Nodes being drained"), ("Rollouts", "Rollouts")):
            await at.get_by_role("link", name=name, exact=True).click()
            assert await at.locator("h1").inner_text() == title
        await at.get_by_role("link", name="Cluster", exact=True).click()
        await at.get_by_role("link", name="pub/llm", exact=True).click()
        assert "pub/llm" in await at.locator("h1").inner_text()
        assert await at.locator("svg polyline").count() == 3
        assert await visit.complaints() == []


async def test_the_filter(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        await visit.page.get_by_label("text").fill("s0")
        await visit.page.keyboard.press("Enter")
        await visit.page.wait_for_url("**text=s0*")
        rows = visit.page.locator("table.groups tr.up, table.groups tr.down")
        assert [await one.get_attribute("data-key") for one in await rows.all()] == [
            "llm/pdb/llm-pods",  # one of its pods is called so
            "llm/s0",
        ]
        assert await visit.complaints() == []


async def test_markup_in_a_name_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        assert await visit.page.locator("header strong").inner_text() == MARKUP
        assert await visit.page.locator("b").count() == 0
        assert await visit.complaints() == []


async def test_it_offers_nothing_that_changes_the_cluster(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        methods = await visit.page.eval_on_selector_all("form", "all => all.map(one => one.method)")
        assert set(methods) == {"get"}
        status = "fetch(location.href, {method: 'DELETE'}).then(answer => answer.status)"
        assert await visit.page.evaluate(status) == 405


async def test_a_wrong_token_shows_nothing(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster):
        wrong = page.address.replace(page.token, "wrong")
        async with browser.opened(wrong) as visit:
            text = await visit.page.locator("body").inner_text()
            assert "the token is wrong" in text
            assert "s1" not in text


async def test_a_narrow_dark_page_does_not_scroll_sideways(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (page, _cluster),
        browser.opened(page.address, 390, 844, "dark") as visit,
    ):
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not await visit.page.evaluate(wide)
        assert await visit.complaints() == []


async def test_the_slider_of_a_film(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "drain.film"
    # A rehearsal has a loop of its own.
    await asyncio.to_thread(lambda: recorded(groups(), "node-0").write(path))
    page = Dashboard(from_file(path))
    async with page.serving(), browser.opened(f"{page.address}drains") as visit:
        assert "No node is cordoned" in await visit.page.locator("main").inner_text()
        await visit.page.locator("input[type=range]").focus()
        await visit.page.keyboard.press("End")
        await visit.page.wait_for_url("**frame=*")
        assert "node-0" in await visit.page.locator("main").inner_text()
        assert await visit.complaints() == []
