"""Who may read the page, and that it changes nothing."""

import json
from pathlib import Path
from urllib.parse import quote

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import from_file
from intact.kube.resources import EVENTS
from intact.sandbox.snapshot.document import Snapshot, write
from tests.page.served import MARKUP, served
from tests.page.test_browser import served as another_page
from tests.support.browser import REBOUND, Browser
from tests.support.objects import PODS
from tests.unit.sandbox.rehearsal.filmed import groups

SCRIPT = "<script>document.title='broken'</script>"


async def test_markup_in_a_name_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        assert await visit.page.locator("header strong").inner_text() == MARKUP
        assert await visit.page.locator("b").count() == 0
        assert await visit.complaints() == []


def hostile() -> Snapshot:
    """Everything in it that people name is called by a script. A server takes no such names, but a
    file may have them."""
    cluster = groups()
    cluster.pdb("plain", {"app": "llm"}, maxUnavailable=1)
    found = cluster.snapshot()
    for kind in ("pods", "nodes", "podgroups.scheduling.k8s.io", "poddisruptionbudgets.policy"):
        found.of(kind)[-1]["metadata"]["name"] = SCRIPT
    gang = found.of("pods")[0]["spec"]["schedulingGroup"]
    gang["podGroupName"] = SCRIPT
    found.of("pods")[0]["spec"]["nodeName"] = SCRIPT
    found.of("pods")[1]["metadata"]["namespace"] = SCRIPT
    found.of("nodes")[-1]["spec"]["unschedulable"] = True
    return found


async def test_markup_in_any_name_is_shown_as_text_and_leads_to_its_view(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "snapshot.json"
    write(hostile(), path)
    page = Dashboard(from_file(path))
    async with page.serving(), browser.opened(page.address) as visit:
        at = visit.page
        shown = await at.locator(f"main a:text-is({json.dumps(SCRIPT)})").all_text_contents()
        assert {one.strip() for one in shown} == {SCRIPT}
        hrefs = "all => all.map(one => one.href)"
        links = set(await at.eval_on_selector_all(f"main a[href*='{quote(SCRIPT[:7])}']", hrefs))
        links.add(f"{page.address}drains")
        kinds = {one.removeprefix(page.address).split("/")[0] for one in links}
        assert kinds == {"why", "budgets", "drains"}
        for link in links:
            answer = await at.goto(link)
            assert answer is not None
            assert answer.status == 200, link
            assert SCRIPT in await at.locator("main").inner_text()
        assert await visit.complaints() == []


async def test_markup_in_the_name_of_who_was_refused_is_shown_as_text(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (page, cluster):
        event = {
            "metadata": {"name": "denied"},
            "involvedObject": {"kind": "PodUnavailableBudget", "name": "llm", "namespace": "llm"},
            "reason": "DisruptionDenied",
            "message": f"EVICT, requested by {SCRIPT}: {MARKUP} must stay",
        }
        await cluster.client.create(EVENTS, event, "llm")
        async with browser.opened(f"{page.address}budgets/pub/llm/llm") as visit:
            cells = visit.page.locator("table.refused tbody td")
            assert (await cells.all_inner_texts())[2:] == [SCRIPT, "EVICT", f"{MARKUP} must stay"]
            assert await visit.complaints() == []


async def test_markup_in_the_filter_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        script = "\"><script>document.title = 'broken'</script>"
        await visit.page.get_by_label("text").fill(script)
        await visit.page.keyboard.press("Enter")
        await visit.page.wait_for_url("**text=*")
        assert await visit.page.get_by_label("text").input_value() == script
        assert await visit.page.title() != "broken"
        assert await visit.complaints() == []


async def test_it_offers_nothing_that_changes_the_cluster(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, cluster), browser.opened(page.address) as visit:
        for view in ("", "drains", "rollouts", "budgets/pub/llm/llm", "why/pod/llm/s0-0"):
            await visit.page.goto(page.address + view)
            forms = "all => all.map(one => one.method)"
            assert set(await visit.page.eval_on_selector_all("form", forms)) <= {"get"}
            buttons = await visit.page.locator("button").all_inner_texts()
            assert set(buttons) <= {"Filter"}
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            status = f"fetch(location.href, {{method: '{method}'}}).then(answer => answer.status)"
            assert await visit.page.evaluate(status) == 405
        assert len((await cluster.client.list(PODS, "llm")).items) == 4


async def test_a_wrong_token_shows_nothing(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        for wrong in ("wrong", page.token[:-1], page.token + "x", ""):
            answer = await visit.page.goto(page.address.replace(page.token, wrong))
            assert answer is not None
            assert answer.status == 403
            text = await visit.page.locator("body").inner_text()
            assert "the token is wrong" in text
            assert "s1" not in text


async def test_a_foreign_name_that_leads_to_this_machine_shows_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (page, _cluster), browser.opened(page.address) as visit:
        answer = await visit.page.goto(page.address.replace("127.0.0.1", REBOUND))
        assert answer is not None
        assert answer.status == 403
        text = await visit.page.locator("body").inner_text()
        assert f"not served for the host '{REBOUND}:" in text
        assert "s1" not in text


async def test_another_page_cannot_read_it_although_it_knows_the_address(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (page, _cluster),
        another_page("") as elsewhere,
        browser.opened(elsewhere) as visit,
    ):
        for mode in ("cors", "no-cors"):
            read = f"""fetch({page.address!r}, {{mode: '{mode}'}})
                .then(answer => answer.text()).catch(() => 'refused')"""
            assert "s1" not in await visit.page.evaluate(read)
        stream = f"""new Promise(done => {{
            const stream = new EventSource({page.address + "changes"!r});
            stream.onmessage = () => done('heard'); stream.onerror = () => done('refused'); }})"""
        assert await visit.page.evaluate(stream) == "refused"
        frame = f"""new Promise(done => {{
            const frame = document.createElement('iframe');
            frame.onload = () => done(frame.contentDocument?.body?.innerText ?? 'not readable');
            frame.src = {page.address!r}; document.body.append(frame); }})"""
        assert await visit.page.evaluate(frame) == "not readable"
