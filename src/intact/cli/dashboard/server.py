"""The page: views rendered here, and a stream that says when to look again."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from intact.cli.dashboard import views
from intact.cli.dashboard.guard import HEADERS, guarded
from intact.cli.dashboard.moment import History, Moment
from intact.cli.dashboard.sources import Source

PAUSE = 0.25
"""Seconds between two updates of a page at least: four a second."""
ALIVE = 15.0
"""Seconds after which a silent stream says that it lives."""
STATIC = Path(__file__).parent / "static"


class Dashboard:
    def __init__(self, source: Source) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self._source = source
        self._history = History()
        self._moment: Moment | None = None
        self._number = 0
        self._news = asyncio.Condition()
        self._begun = asyncio.Event()
        self._templates = Environment(
            loader=PackageLoader("intact.cli.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncGenerator[None, None]:
        """From the first moment on."""
        async with self._source.running():
            following = asyncio.create_task(self._follow())
            runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=1.0)
            try:
                await self._first(following)
                await runner.setup()
                site = web.TCPSite(runner, "127.0.0.1", port)
                await site.start()
                self.port = runner.addresses[0][1]
                yield
            finally:
                await runner.cleanup()
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def _first(self, following: asyncio.Task[None]) -> None:
        """Until there is something to show. Raises what ended the following before that."""
        waiting = asyncio.create_task(self._begun.wait())
        await asyncio.wait({waiting, following}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._moment is None:
            following.result()

    async def _follow(self) -> None:
        async for moment in self._source.moments():
            self._history.add(moment)
            async with self._news:
                self._moment = moment
                self._number += 1
                self._news.notify_all()
            self._begun.set()
            await asyncio.sleep(PAUSE)

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[guarded(self.token)])
        add = application.router.add_get
        add("/{token}/", self._cluster)
        add("/{token}/budgets/{short}/{namespace}/{name}", self._budget)
        add("/{token}/rollouts", self._rollouts)
        add("/{token}/rollouts/{namespace}/{name}", self._rollout)
        add("/{token}/drains", self._drains)
        add("/{token}/why/pod/{namespace}/{name}", self._why_pod)
        add("/{token}/why/group/{namespace}/{name}", self._why_group)
        add("/{token}/why/node/{name}", self._why_node)
        add("/{token}/changes", self._changes)
        add("/{token}/static/{name}", self._static)
        return application

    def _at(self, request: web.Request) -> Moment:
        """The moment that is asked for: now, or that of a frame of a film."""
        assert self._moment is not None
        film = self._source.film
        if film is None:
            return self._moment
        frame = film.at(_frame(request, film.length))
        return Moment(frame.objects, frame.now)

    def _render(self, request: web.Request, view: str, values: views.Values) -> web.Response:
        film = self._source.film
        number = _frame(request, film.length) if film is not None else 0
        shown: dict[str, Any] = {
            **values,
            "view": view,
            "base": f"/{self.token}",
            "title": self._source.title,
            "path": request.path,
            "number": self._number,
            "frames": film.length if film is not None else 0,
            "frame": number,
            "seconds": film.seconds[number] if film is not None else 0,
        }
        text = self._templates.get_template(f"{view}.html").render(shown)
        return web.Response(text=text, content_type="text/html", headers=HEADERS)

    async def _cluster(self, request: web.Request) -> web.Response:
        asked = {name: request.query.get(name, "") for name in views.Filter.__slots__}
        return self._render(
            request, "cluster", views.cluster(self._at(request), views.Filter(**asked))
        )

    async def _budget(self, request: web.Request) -> web.Response:
        moment, info = self._at(request), request.match_info
        named = info["short"], info["namespace"], info["name"]
        found = [
            one
            for one in moment.picture.budgets
            if (one.reference, one.namespace) == (f"{named[0]}/{named[2]}", named[1])
        ]
        refused = await self._source.refused(found[0]) if found else ()
        return self._render(
            request, "budget", _known(views.budget, moment, self._history, refused, *named)
        )

    async def _rollouts(self, request: web.Request) -> web.Response:
        return self._render(request, "rollouts", views.rollouts(self._at(request)))

    async def _rollout(self, request: web.Request) -> web.Response:
        info = request.match_info
        values = _known(views.rollout, self._at(request), info["namespace"], info["name"])
        return self._render(request, "rollout", values)

    async def _drains(self, request: web.Request) -> web.Response:
        return self._render(request, "drains", views.drains(self._at(request)))

    async def _why_pod(self, request: web.Request) -> web.Response:
        info = request.match_info
        values = _known(views.why_pod, self._at(request), info["namespace"], info["name"])
        return self._render(request, "why", values)

    async def _why_group(self, request: web.Request) -> web.Response:
        info = request.match_info
        values = _known(views.why_group, self._at(request), info["namespace"], info["name"])
        return self._render(request, "why", values)

    async def _why_node(self, request: web.Request) -> web.Response:
        values = _known(views.why_node, self._at(request), request.match_info["name"])
        return self._render(request, "why", values)

    async def _static(self, request: web.Request) -> web.Response:
        kinds = {"page.css": "text/css", "page.js": "text/javascript"}
        name = request.match_info["name"]
        if name not in kinds:
            raise web.HTTPNotFound
        text = (STATIC / name).read_text()
        return web.Response(text=text, content_type=kinds[name], headers=HEADERS)

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


def _frame(request: web.Request, length: int) -> int:
    try:
        number = int(request.query.get("frame", "0"))
    except ValueError:
        raise web.HTTPBadRequest(text="frame must be a number\n") from None
    return min(max(number, 0), length - 1)


def _known(view: Any, *given: Any) -> views.Values:
    try:
        found: views.Values = view(*given)
    except views.Unknown as error:
        raise web.HTTPNotFound(text=f"{error}\n") from None
    return found
