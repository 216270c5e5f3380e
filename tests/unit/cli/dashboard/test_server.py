"""The page over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster, from_file
from intact.cli.why.events import Refused
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from intact.kube.resources import NODES
from intact.picture.budgets import BudgetPicture
from intact.sandbox.snapshot.document import write
from tests.support.pictures import pdb, pod
from tests.support.small_clusters import SmallCluster
from tests.unit.cli.inhabited import Inhabited, inhabited
from tests.unit.sandbox.rehearsal.filmed import groups, recorded

VIEWS = ["", "budgets/pdb/llm/llm-pods", "rollouts", "drains", "why/pod/llm/a"]


@asynccontextmanager
async def served(directory: Path) -> AsyncGenerator[tuple[Dashboard, Inhabited, ClientSession]]:
    async with inhabited(directory, pod("a"), pdbs=[pdb()]) as cluster, ClientSession() as http:
        page = Dashboard(LiveCluster(cluster.client, "here"))
        async with page.serving():
            yield page, cluster, http


async def test_views(tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster, http):
        for view in VIEWS:
            async with http.get(page.address + view) as answer:
                assert answer.status == 200, view
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                assert "<main" in await answer.text()
        for name in ("page.css", "page.js"):
            async with http.get(f"{page.address}static/{name}") as answer:
                assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("why/pod/llm/missing", {}, 404),
        ("static/../server.py", {}, 404),
        ("static/x", {}, 404),
        ("nothing", {}, 404),
        ("", {"Host": "evil.example"}, 403),
        ("", {"Origin": "http://evil.example"}, 403),
        ("changes", {"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
async def test_refusals(tmp_path: Path, path: str, headers: dict[str, str], status: int) -> None:
    async with (
        served(tmp_path) as (page, _cluster, http),
        http.get(page.address + path, headers=headers) as answer,
    ):
        assert answer.status == status
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("why/pod/llm/missing", "There is no pod missing in namespace llm."),
        ("why/node/missing", "There is no node missing."),
        ("budgets/pub/llm/missing", "There is no budget pub/missing in namespace llm."),
        ("rollouts/llm/missing", "There is no RoleBasedGroup missing in namespace llm."),
        ("nothing", "There is no such view."),
        ("drains/", "There is no such view."),
    ],
)
async def test_what_is_not_there_is_said_on_a_page_that_leads_on(
    tmp_path: Path, path: str, said: str
) -> None:
    async with (
        served(tmp_path) as (page, _cluster, http),
        http.get(page.address + path) as answer,
    ):
        assert answer.status == 404
        assert answer.content_type == "text/html"
        text = await answer.text()
        assert f"<p>{said}</p>" in text
        assert f'href="/{page.token}/drains"' in text


async def test_a_wrong_token_and_writes_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as (page, _cluster, http):
        wrong = page.address.replace(page.token, "x" * len(page.token))
        async with http.get(wrong) as answer:
            assert answer.status == 403
            assert "token" in await answer.text()
        async with http.post(page.address) as answer:
            assert answer.status == 405


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"OPTIONS * HTTP/1.1", b"403"),
        (b"CONNECT 127.0.0.1:80 HTTP/1.1", b"403"),
        (b"GET /\xff HTTP/1.1", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000, b"400"),
        (b"nonsense", b"400"),
    ],
)
async def test_requests_of_no_browser_are_refused_without_a_word_on_the_terminal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: bytes, status: bytes
) -> None:
    async with served(tmp_path) as (page, _cluster, _http):
        reader, writer = await asyncio.open_connection("127.0.0.1", page.port)
        host = f"Host: 127.0.0.1:{page.port}".encode()
        writer.write(line + b"\r\n" + host + b"\r\nConnection: close\r\n\r\n")
        assert status in (await reader.readline()).split()
        writer.close()
    assert [one.name for one in caplog.records if one.exc_info] == []


async def test_the_address_without_its_last_slash_leads_to_the_page(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (page, _cluster, http),
        http.get(page.address.removesuffix("/")) as answer,
    ):
        assert answer.status == 200
        assert str(answer.url) == page.address


async def test_the_stream_says_when_something_has_changed(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (page, cluster, http),
        http.get(f"{page.address}changes") as answer,
        asyncio.timeout(20),
    ):
        assert answer.content_type == "text/event-stream"
        first = await answer.content.readline()
        await cluster.pods(pod("b"))
        line = b"\n"
        while not line.startswith(b"data:") or line == first:
            line = await answer.content.readline()
        async with http.get(f"{page.address}why/pod/llm/b") as view:
            assert view.status == 200


async def test_it_ends_at_once_while_a_page_is_open(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with inhabited(tmp_path, pod("a")) as cluster, ClientSession() as http:
        page = Dashboard(LiveCluster(cluster.client, "here"))
        async with page.serving():
            changes = await http.get(f"{page.address}changes")
            await changes.content.readline()
            asked = clock()
        assert clock() - asked < 1.5
        changes.close()


class SlowEvents(LiveCluster):
    def __init__(self, client: Client) -> None:
        super().__init__(client, "here")
        self.asked, self.answered = asyncio.Event(), asyncio.Event()

    async def refused(self, budget: BudgetPicture) -> Sequence[Refused]:
        self.asked.set()
        await self.answered.wait()
        return await super().refused(budget)


async def test_a_view_that_took_long_to_read_is_renewed_if_it_is_old_by_then(
    tmp_path: Path,
) -> None:
    """It has the number of the moment that it shows, by which the page knows."""
    async with (
        inhabited(tmp_path, pod("a"), pdbs=[pdb()]) as cluster,
        ClientSession() as http,
        asyncio.timeout(20),
    ):
        source = SlowEvents(cluster.client)
        page = Dashboard(source)
        async with page.serving(), http.get(f"{page.address}changes") as changes:
            first = await changes.content.readline()
            reading = asyncio.create_task(http.get(f"{page.address}budgets/pdb/llm/llm-pods"))
            await source.asked.wait()
            await cluster.pods(pod("b"))
            line = b"\n"
            while not line.startswith(b"data:"):
                line = await changes.content.readline()
            source.answered.set()
            async with await reading as answer:
                number = first.decode().removeprefix("data: ").strip()
                assert f'data-number="{number}"' in await answer.text()


async def test_a_cluster_that_is_gone_is_said_on_every_view_and_what_was_known_stays(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack, ClientSession() as http, asyncio.timeout(40):
        cluster = await stack.enter_async_context(inhabited(tmp_path, pod("a"), pdbs=[pdb()]))
        async with Client(HttpTransport(config.load(cluster.kubeconfig))) as client:
            page = Dashboard(LiveCluster(client, "here"))
            async with page.serving(), http.get(f"{page.address}changes") as changes:
                for view in VIEWS:
                    async with http.get(page.address + view) as answer:
                        assert "cannot be read" not in await answer.text(), view
                await stack.aclose()
                text = ""
                while "cannot be read" not in text:
                    await changes.content.readline()
                    async with http.get(page.address) as answer:
                        text = await answer.text()
                for view in VIEWS:
                    async with http.get(page.address + view) as answer:
                        assert answer.status == 200
                        text = await answer.text()
                        assert "The cluster cannot be read: " in text, view
                        assert "This is what it last said." in text, view
                assert "pod a in llm" in text


async def test_events_that_may_not_be_read_are_named(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()]) as cluster, ClientSession() as http:
        cluster.forbidden.add("events")
        async with Client(HttpTransport(config.load(cluster.kubeconfig))) as client:
            page = Dashboard(LiveCluster(client, "here"))
            async with (
                page.serving(),
                http.get(f"{page.address}budgets/pdb/llm/llm-pods") as answer,
            ):
                text = await answer.text()
        assert "not read: events (no)" in text
        assert "Nothing was refused" not in text


@pytest.mark.parametrize("view", ["", "drains", "rollouts", "budgets/pdb/llm/llm-pods"])
async def test_what_may_not_be_read_is_named_on_every_view(tmp_path: Path, view: str) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()], intact=True) as cluster:
        cluster.forbidden |= {"nodes", "rolebasedgroups"}
        async with (
            ClientSession() as http,
            Client(HttpTransport(config.load(cluster.kubeconfig))) as client,
        ):
            page = Dashboard(LiveCluster(client, "here"))
            async with page.serving(), http.get(page.address + view) as answer:
                text = await answer.text()
    assert text.count("not read: nodes (no)") == 1
    assert text.count("not read: rolebasedgroups.workloads.x-k8s.io (no)") == 1
    assert "No node is cordoned" not in text
    assert "No RoleBasedGroups" not in text


@pytest.mark.parametrize(
    ("view", "said", "untrue"),
    [
        ("", "No budget that could be read.", "No budget."),
        ("", "pods without a budget that could be read<", "pods without a budget<"),
        ("", "1 pod<", "on 0 nodes"),
        ("drains", "</b> without a budget that could be read<", "</b> may go"),
        ("why/pod/llm/a", '<span class="word not-known">not known</span>', "may go</span>"),
    ],
)
async def test_where_budgets_may_not_be_read_no_pod_is_said_to_be_free(
    tmp_path: Path, view: str, said: str, untrue: str
) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()], intact=True) as cluster:
        body = {"metadata": {"name": "node-0"}, "spec": {"unschedulable": True}}
        await cluster.client.create(NODES, body)
        cluster.forbidden |= {"poddisruptionbudgets"} | ({"nodes"} if not view else set())
        async with (
            ClientSession() as http,
            Client(HttpTransport(config.load(cluster.kubeconfig))) as client,
        ):
            page = Dashboard(LiveCluster(client, "here"))
            async with page.serving(), http.get(page.address + view) as answer:
                text = await answer.text()
    assert said in text
    assert untrue not in text


async def test_a_snapshot_does_not_pose_as_live(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    write(groups().snapshot(), path)
    page = Dashboard(from_file(path))
    async with (
        page.serving(),
        ClientSession() as http,
        http.get(f"{page.address}budgets/pdb/default/llm") as answer,
    ):
        text = await answer.text()
    assert 'data-changes=""' in text
    assert "up to now" not in text
    assert "Nothing was refused" not in text
    assert "A snapshot has no events" in text


async def test_refusals_of_a_film_stay_when_the_pods_that_had_to_stay_have_gone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "drain.film"
    made = SmallCluster(nodes=3)
    made.deployment("web", ["node-0", "node-0", "node-1"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    recorded(made, "node-0").write(path)
    source = from_file(path)
    assert source.film is not None
    page = Dashboard(source)
    async with page.serving(), ClientSession() as http:
        for frame, times in ((0, 0), (source.film.length - 1, len(source.film.refusals))):
            view = f"{page.address}budgets/pdb/default/web?frame={frame}"
            async with http.get(view) as answer:
                text = await answer.text()
            assert text.count("kubectl drain node-0") == times
            assert ("Nothing was refused" in text) == (not times)


async def test_frames_of_a_film(tmp_path: Path) -> None:
    path = tmp_path / "drain.film"
    recorded(groups(), "node-0").write(path)
    source = from_file(path)
    assert source.film is not None
    page = Dashboard(source)
    async with page.serving(), ClientSession() as http:
        async with http.get(f"{page.address}drains") as answer:
            assert "No node is cordoned" in await answer.text()
        async with http.get(f"{page.address}drains?frame={source.film.length - 1}") as answer:
            assert "node-0" in await answer.text()
        async with http.get(f"{page.address}?frame=x") as answer:
            assert answer.status == 400
        async with http.get(f"{page.address}?frame=99999") as answer:
            assert answer.status == 200
