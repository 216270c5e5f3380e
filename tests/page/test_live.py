"""The page follows the cluster while it is open."""

import asyncio
from pathlib import Path
from statistics import median

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import from_file
from intact.sandbox.snapshot.document import write
from tests.page.served import make_ready, served
from tests.support.browser import Browser
from tests.support.objects import PODS
from tests.support.pictures import pod
from tests.unit.sandbox.rehearsal.filmed import groups

ELEMENTS = "document.getElementsByTagName('*').length"


async def test_a_change_of_a_pod_is_seen_within_a_second_without_a_reload(
    browser: Browser, tmp_path: Path
) -> None:
    """The median of seven: one of them may meet a busy machine."""
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        shown = visit.page.locator("tr.down[data-key='llm/s1']")
        assert await shown.count() == 1
        await visit.page.evaluate("window.same = true")
        clock = asyncio.get_running_loop().time
        took = []
        for number in range(7):
            ready = number % 2 == 0
            begun = clock()
            await make_ready(cluster, "s1-1", ready=ready)
            await shown.wait_for(state="detached" if ready else "attached")
            took.append(clock() - begun)
        assert median(took) < 1.0, took
        assert await visit.page.evaluate("window.same")
        assert await visit.complaints() == []


async def test_focus_and_what_is_typed_stay_while_the_page_changes(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        await visit.page.locator("body").press("/")
        await visit.page.keyboard.type("s0-")
        await make_ready(cluster, "s1-1", ready=True)
        await visit.page.locator("tr.down[data-key='llm/s1']").wait_for(state="detached")
        await visit.page.keyboard.type("1")
        assert await visit.page.get_by_label("text").input_value() == "s0-1"
        await visit.page.keyboard.press("Escape")
        assert await visit.page.evaluate("document.activeElement === document.body")


async def test_focus_stays_on_a_mark_whose_row_changes_its_place(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        mark = "tr[data-key='llm/s0'] a.pod[aria-label='s0-1: ready']"
        for ready, first in ((True, "llm/s0"), (False, "llm/s1"), (True, "llm/s0")):
            await visit.page.locator(mark).focus()
            await make_ready(cluster, "s1-1", ready=ready)
            await visit.page.locator(f"tbody tr.title + tr[data-key='{first}']").wait_for()
            assert await visit.page.locator(f"{mark}:focus").count() == 1, first


async def test_what_comes_goes_again_and_leaves_nothing_behind(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        before = await visit.page.evaluate(ELEMENTS)
        new = visit.page.locator("a.pod[aria-label^='new-']")
        for _ in range(3):
            await cluster.pods(*(pod(f"new-{number}", group="s0") for number in range(8)))
            await visit.page.locator("a.pod[aria-label^='new-7']").first.wait_for()
            for number in range(8):
                await cluster.client.delete(PODS, f"new-{number}", "llm", grace_period_seconds=0)
            await new.first.wait_for(state="detached")
            assert await visit.page.evaluate(ELEMENTS) == before
        assert await visit.complaints() == []


async def test_a_pod_that_is_deleted_is_said_and_shown_again_when_it_comes_back(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (page, cluster),
        browser.opened(f"{page.address}why/pod/llm/s1-1") as visit,
    ):
        heading = visit.page.locator("h1")
        assert "pod s1-1 in llm" in await heading.inner_text()
        await cluster.client.delete(PODS, "s1-1", "llm", grace_period_seconds=0)
        await visit.page.get_by_text("There is no pod s1-1 in namespace llm.").wait_for()
        assert await heading.inner_text() == "Not found"
        await cluster.pods(pod("s1-1", group="s1"))
        await heading.get_by_text("pod s1-1 in llm").wait_for()


async def test_a_snapshot_is_not_called_live(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    write(groups().snapshot(), path)
    page = Dashboard(from_file(path))
    async with page.serving(), browser.opened(page.address) as visit:
        await visit.page.wait_for_load_state("networkidle")
        assert await visit.page.locator("#live").inner_text() == ""
        assert await visit.complaints() == []


async def test_a_server_that_has_ended_is_said(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster):
        opened = browser.opened(page.address)
        visit = await opened.__aenter__()
        await visit.page.get_by_text("live", exact=True).wait_for()
    await visit.page.get_by_text("not connected", exact=True).wait_for()
    assert await visit.page.locator("tr.down").count() > 0  # what it showed last stays
    await opened.__aexit__(None, None, None)


async def test_pages_that_are_not_seen_hold_no_connection(browser: Browser, tmp_path: Path) -> None:
    """A browser has six to one server: a seventh page would wait for ever."""
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        hide = "Object.defineProperty(document, 'hidden', {value: true, configurable: true})"
        seen = "document.dispatchEvent(new Event('visibilitychange'))"
        others = [await visit.page.context.new_page() for _ in range(7)]
        for other in others:
            await other.goto(page.address)
            await other.evaluate(f"{hide}; {seen}")
        await make_ready(cluster, "s1-1", ready=True)
        await visit.page.locator("tr.down[data-key='llm/s1']").wait_for(state="detached")
        last = others[-1]
        await last.evaluate(f"delete document.hidden; {seen}")
        await last.locator("tr.down[data-key='llm/s1']").wait_for(state="detached")
