"""Each view, on the cluster of `intact dashboard --sandbox`; and the pictures of the docs.

SCREENSHOTS=DIR keeps the pictures: `make screenshots` renews those of docs/images.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.show import Show
from intact.cli.dashboard.sources import from_file
from tests.support.browser import Browser, Visit
from tests.unit.sandbox.rehearsal.filmed import groups, recorded

PNG = b"\x89PNG"
SHOW = 180_000
"""Milliseconds in which a whole turn of the show passes, also on a machine with other work: what a
view came too late for, it sees in the next turn."""


async def keep(visit: Visit, name: str, directory: Path) -> None:
    kept = Path(os.environ.get("SCREENSHOTS", directory)) / f"page-{name}.png"
    await visit.page.screenshot(path=kept, full_page=True)
    assert kept.read_bytes().startswith(PNG)


@asynccontextmanager
async def shown() -> AsyncGenerator[Dashboard]:
    page = Dashboard(Show(pause=1.0))
    async with page.serving():
        yield page


async def test_a_drain(browser: Browser, tmp_path: Path) -> None:
    """In the order of a maintenance: it begins, groups break one by one, evictions are refused."""
    async with shown() as page, browser.opened(page.address) as visit:
        at = visit.page
        at.set_default_timeout(SHOW)
        await at.get_by_text("kubectl drain node-").first.wait_for()
        await at.locator("th.node.cordoned").get_by_text("cordoned").wait_for()
        await at.locator("td.cordoned .pod.ready").first.wait_for()
        await at.locator("tr.down .pod.unready").first.wait_for()
        assert await at.locator("table.budgets svg.bar").count() == 2
        assert await at.get_by_text("pods without a budget").count() == 1
        await keep(visit, "cluster", tmp_path)

        await at.get_by_role("link", name="Drains", exact=True).click()
        drain = at.locator("section.drain").first
        await drain.locator("b.number.down").wait_for()  # some pods are held
        await drain.get_by_text("of 3 groups are available").first.wait_for()
        await keep(visit, "drains", tmp_path)

        await at.goto(f"{page.address}budgets/pub/llm-pub/llm")
        await at.locator("table.refused tbody tr").first.wait_for()
        assert await at.locator("figure polyline").count() == 3
        refusal = at.locator("table.refused tbody tr").first
        assert "admin" in await refusal.inner_text()
        assert "of 3 groups are available" in await refusal.inner_text()
        await keep(visit, "budget", tmp_path)

        await at.locator("table.groups tr.up .pod").first.click()
        await at.wait_for_url("**/why/pod/llm-pub/*")
        assert "shard-" in await at.locator("h1").inner_text()
        assert await at.locator("ul.links li").count() == 3  # its budget, its group, its node
        await keep(visit, "why", tmp_path)
        assert await visit.complaints() == []


async def test_a_rollout(browser: Browser, tmp_path: Path) -> None:
    async with shown() as page, browser.opened(page.address) as visit:
        at = visit.page
        at.set_default_timeout(SHOW)
        await at.get_by_role("link", name="Rollouts").click()
        await at.get_by_role("link", name="llm", exact=True).click()
        await at.get_by_text("version 2 for both roles").wait_for()
        prefill = at.locator("table.roles tr[data-key='prefill']")
        await prefill.get_by_text("Updating").wait_for()
        await at.get_by_text("Revision 2, from 1.").wait_for()
        await at.locator("section[aria-label='Skew of together'] figure").wait_for()
        await prefill.get_by_text("not ready").wait_for()  # what it waits for
        await keep(visit, "rollout", tmp_path)
        assert await at.locator("section[aria-label='Revisions'] tbody tr").count() == 2
        assert await visit.complaints() == []


async def test_the_slider_of_a_film(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "drain.film"
    # A rehearsal has a loop of its own.
    await asyncio.to_thread(lambda: recorded(groups(), "node-0").write(path))
    source = from_file(path)
    assert source.film is not None
    page = Dashboard(source)
    async with page.serving(), browser.opened(f"{page.address}drains") as visit:
        assert "No node is cordoned" in await visit.page.locator("main").inner_text()
        drain = visit.page.locator("section.drain[data-key='node-0']")
        await visit.page.locator("input[type=range]").focus()
        for frame in (1, 2, 3):
            await visit.page.keyboard.press("ArrowRight")
            await visit.page.wait_for_url(f"**/drains?frame={frame}")
            seconds = f"{source.film.seconds[frame]:.1f} s of"
            await visit.page.locator("#film label").get_by_text(seconds).wait_for()
        await drain.wait_for()
        await visit.page.keyboard.press("Home")
        await visit.page.get_by_text("No node is cordoned").wait_for()
        await visit.page.keyboard.press("End")
        await drain.wait_for()
        await visit.page.reload()  # the moment is in the address
        await drain.wait_for()
        await visit.page.get_by_text("drained", exact=True).wait_for()
        await keep(visit, "film", tmp_path)
        await visit.page.get_by_role("link", name="Cluster", exact=True).click()
        await visit.page.wait_for_url("**frame=*")  # the moment stays from view to view
        assert await visit.complaints() == []
