"""The page: views rendered here, and a stream that says when to look again."""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import click
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler
from jinja2 import Environment, PackageLoader, StrictUndefined

from intact.cli.dashboard.guard import HEADERS, guarded
from intact.cli.dashboard.history import History
from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.screening import Screening
from intact.cli.dashboard.sources import Source
from intact.cli.dashboard.views.budget import budget
from intact.cli.dashboard.views.cluster import Filter, cluster
from intact.cli.dashboard.views.drain import drains
from intact.cli.dashboard.views.parts import Unknown, Values, named
from intact.cli.dashboard.views.rollout import group_named, rollout, rollouts
from intact.cli.dashboard.views.why import why_group, why_node, why_pod
from intact.cli.output import counted
from intact.kube.errors import KubeError
from intact.kube.resources import PDBS, PUBS

PAUSE = 0.25
"""Seconds between two updates of a page at least: four a second."""
ALIVE = 15.0
"""Seconds after which a silent stream says that it lives."""
LEAVE = 0.1
"""Seconds for an answer to end by itself after Ctrl-C: the streams of open pages never do."""
_LOG = logging.getLogger("aiohttp.server.page")
_LOG.addFilter(lambda record: not (record.exc_info and _is_malformed(record.exc_info[1])))
T = TypeVar("T")
STATIC = Path(__file__).parent / "static"
KINDS = {"page.css": "text/css", "page.js": "text/javascript"}


class Dashboard:
    def __init__(self, source: Source) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self._source = source
        self._screening = Screening(source.film) if source.film is not None else None
        self._history = History(most=None) if source.film is not None else History()
        self._moment: Moment | None = None
        self._number = 0
        self._news = asyncio.Condition()
        self._begun = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._templates = Environment(
            loader=PackageLoader("intact.cli.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["counted"] = counted
        self._templates.filters["segment"] = partial(quote, safe="")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncGenerator[None, None]:
        """From the first moment on. Raises `click.ClickException` if the port is taken."""
        with _listening(port) as listener:
            self.port = listener.getsockname()[1]
            async with self._source.running():
                self._following = asyncio.create_task(self._follow())
                runner = web.AppRunner(
                    self._application(), access_log=None, logger=_LOG, shutdown_timeout=LEAVE
                )
                try:
                    await self._first(self._following)
                    await runner.setup()
                    await web.SockSite(runner, listener).start()
                    yield
                finally:
                    await runner.cleanup()
                    self._following.cancel()
                    await asyncio.gather(self._following, return_exceptions=True)

    async def run(self) -> None:
        """While it serves, until cancelled. Raises what keeps it from drawing new moments."""
        assert self._following is not None
        await self._following
        await asyncio.Event().wait()

    async def _first(self, following: asyncio.Task[None]) -> None:
        """Until there is something to show. Raises what ended the following before that."""
        waiting = asyncio.create_task(self._begun.wait())
        await asyncio.wait({waiting, following}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._moment is None:
            following.result()

    async def _follow(self) -> None:
        if self._screening is not None:
            await self._tell(self._screening.at(0))
            await self._screening.record(self._history)
            await self._tell(self._screening.at(0))
            return
        clock = asyncio.get_running_loop().time
        async for moment in self._source.moments():
            begun = clock()
            self._history.add(moment)
            await self._tell(moment)
            # Drawing a large cluster takes a while: other work gets twice as long.
            await asyncio.sleep(max(PAUSE, 2 * (clock() - begun)))

    async def _tell(self, moment: Moment) -> None:
        async with self._news:
            self._moment = moment
            self._number += 1
            self._news.notify_all()
        self._begun.set()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[guarded(self.token), self._leading_on])
        add = application.router.add_get
        add("/{token}", self._home)
        add("/{token}/", self._cluster)
        add("/{token}/budgets/{short}/{namespace}/{name}", self._budget)
        add("/{token}/rollouts", self._rollouts)
        add("/{token}/rollouts/{namespace}/{name}", self._rollout)
        add("/{token}/drains", self._drains)
        add("/{token}/why/pod/{namespace}/{name}", self._why(why_pod, "namespace", "name"))
        add("/{token}/why/group/{namespace}/{name:.+}", self._why(why_group, "namespace", "name"))
        add("/{token}/why/node/{name}", self._why(why_node, "name"))
        add("/{token}/changes", self._changes, allow_head=False)
        add("/{token}/static/{name}", self._static)
        return application

    @web.middleware
    async def _leading_on(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """What is not there, or not any more, is said on a page, which shows it if it comes."""
        try:
            return await handler(request)
        except Unknown as error:
            said = str(error)
        except web.HTTPNotFound:
            said = "there is no such view"
        return self._render(request, "missing", {"said": said}, status=404)

    def _at(self, request: web.Request) -> tuple[Moment, dict[str, datetime]]:
        """The moment that is asked for: now, or that of a frame of a film; with the end of its
        timelines and, of a film, the place on them."""
        assert self._moment is not None
        if self._screening is None:
            return self._moment, {"end": self._moment.now}
        moment = self._screening.at(_number(request, "frame", 0))
        return moment, {"end": self._screening.end, "at": moment.now}

    def _render(
        self, request: web.Request, view: str, values: Values, *, status: int = 200
    ) -> web.Response:
        assert self._moment is not None
        screening, unreadable = self._screening, self._moment.objects.unreadable
        shown: dict[str, Any] = {
            "view": view,
            "base": f"/{self.token}",
            "title": self._source.title,
            "caption": self._source.caption,
            "problem": self._source.problem,
            "unreadable": unreadable,
            "unsure": PDBS.full_name in unreadable or PUBS.full_name in unreadable,
            "live": self._source.live,
            "path": request.path,
            "number": self._number,
            "asked": request.query,
            "query": lambda **more: _query(request, more),
            "film": screening and screening.frame(_number(request, "frame", 0)),
            **values,
        }
        text = self._templates.get_template(f"{view}.html").render(shown)
        return web.Response(text=text, status=status, content_type="text/html", headers=HEADERS)

    async def _home(self, _request: web.Request) -> web.Response:
        raise web.HTTPFound(f"/{self.token}/")

    async def _cluster(self, request: web.Request) -> web.Response:
        wanted = Filter(**{name: request.query.get(name, "") for name in Filter.__slots__})
        moment, _times = self._at(request)
        return self._render(
            request, "cluster", cluster(moment, wanted, _number(request, "page", 1))
        )

    async def _budget(self, request: web.Request) -> web.Response:
        moment, times = self._at(request)
        number = self._number
        info = request.match_info
        found = named(moment.picture.budgets, info["short"], info["namespace"], info["name"])
        if self._screening is not None:
            refused, unread = self._screening.refused(found, _number(request, "frame", 0)), ""
        else:
            refused, unread = await _read(self._source.refused(found))
        page = _number(request, "page", 1)
        points = self._history.of_budget(found)
        values = budget(moment, found, points, refused, page=page, **times)
        return self._render(request, "budget", {**values, "unread": unread, "number": number})

    async def _rollouts(self, request: web.Request) -> web.Response:
        return self._render(request, "rollouts", rollouts(self._at(request)[0]))

    async def _rollout(self, request: web.Request) -> web.Response:
        moment, times = self._at(request)
        number = self._number
        group = group_named(moment, request.match_info["namespace"], request.match_info["name"])
        revisions, unread = await _read(self._source.revisions(group))
        values = rollout(moment, group, self._history, revisions, **times)
        return self._render(request, "rollout", {**values, "unread": unread, "number": number})

    async def _drains(self, request: web.Request) -> web.Response:
        moment, _times = self._at(request)
        if self._screening is None:
            return self._render(request, "drains", drains(moment, self._history.drains))
        number = _number(request, "frame", 0)
        values = drains(moment, self._screening.drains(number), self._screening.refusals(number))
        return self._render(request, "drains", values)

    def _why(self, view: Callable[..., Values], *names: str) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            values = view(self._at(request)[0], *(request.match_info[one] for one in names))
            return self._render(request, "why", values)

        return answer

    async def _static(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in KINDS:
            raise web.HTTPNotFound
        text = (STATIC / name).read_text()
        return web.Response(text=text, content_type=KINDS[name], headers=HEADERS)

    async def _changes(self, request: web.Request) -> web.StreamResponse:
        """Says when there is a new moment. The page then asks for its view again."""
        answer = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await answer.prepare(request)
        told = -1
        while True:
            async with self._news:
                try:
                    async with asyncio.timeout(ALIVE):
                        await self._news.wait_for(lambda: self._number > told)  # noqa: B023
                except TimeoutError:
                    pass
                number = self._number
            line = f"data: {number}\n\n" if number > told else ": alive\n\n"
            told = number
            try:
                await answer.write(line.encode())
            except ConnectionError:
                return answer
            await asyncio.sleep(PAUSE)


async def _read(reading: Awaitable[Sequence[T]]) -> tuple[Sequence[T], str]:
    """What one view shows beside the rest, or why it could not be read."""
    try:
        return await reading, ""
    except KubeError as error:
        return (), str(error)


def _is_malformed(error: BaseException | None) -> bool:
    """What is no HTTP is answered, and is not for the terminal of the reader."""
    return isinstance(error, HttpProcessingError)


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise click.ClickException(f"port {port}: {error.strerror}") from None


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise web.HTTPBadRequest(text=f"{name}: {text[:20]!r} is not a number\n")
    return int(text)


def _query(request: web.Request, more: dict[str, object]) -> str:
    """Of a link: the frame of a film stays, and of a link to the same view all that was asked."""
    kept = dict(request.query) if more else {}
    if "frame" in request.query:
        kept["frame"] = request.query["frame"]
    kept |= {name: str(value) for name, value in more.items()}
    found = urlencode({name: value for name, value in kept.items() if value})
    return f"?{found}" if found else ""
