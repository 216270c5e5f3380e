"""`intact drain`."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click

from intact.cli.drain import dry_run as dry_runs
from intact.cli.drain.cordon import cordon, named, uncordon
from intact.cli.drain.draining import Draining, Result
from intact.cli.drain.events import Event, Tell, What, as_json
from intact.cli.drain.evictions import Evictions
from intact.cli.drain.filters import Sorted, daemon_sets_of, sort_out
from intact.cli.drain.options import Options
from intact.cli.drain.progress import Progress
from intact.cli.drain.text import line
from intact.cli.drain.watching import Watching
from intact.cli.options import Cluster
from intact.cli.output import counted
from intact.cli.reading import DETAILED_PODS
from intact.cli.screen import Screen
from intact.cli.session import session
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import untyped
from intact.model.places import Node
from intact.model.pod import DetailedPod

ERRORS = 1
LEFT = 3
_DAEMON_SETS = untyped("apps", "v1", "daemonsets", "DaemonSet")
_REDRAWN = 1.0
"""Seconds after which the live view shows how long something takes."""


def drain(
    cluster: Cluster,
    nodes: Sequence[str],
    selector: str | None,
    options: Options,
    *,
    dry_run: str,
    output: str,
) -> None:
    logging.getLogger("intact").addHandler(logging.NullHandler())  # the views tell it
    view = _json() if output == "json" else None
    live = view is None and dry_run == "none" and sys.stdout.isatty()
    code = asyncio.run(_drain(cluster, nodes, selector, options, dry_run, view, live=live))
    sys.exit(code)


async def _drain(
    cluster: Cluster,
    names: Sequence[str],
    selector: str | None,
    options: Options,
    dry_run: str,
    view: Tell | None,
    *,
    live: bool,
) -> int:
    async with session(cluster) as (client, _namespace):
        nodes = await named(client, names, selector)
        if not nodes:
            raise click.ClickException(f"no node has the labels {selector!r}")
        if not live:
            command = _Drain(client, nodes, options, view or _lines(dry_run))
            return await command.run(dry_run)
        tell, redraw, end = _live()
        task = asyncio.create_task(redraw())
        try:
            return await _Drain(client, nodes, options, tell).run(dry_run)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            end()


def _lines(dry_run: str) -> Tell:
    said = {"client": " (dry run)", "server": " (server dry run)"}.get(dry_run, "")

    def tell(event: Event) -> None:
        text = line(event)
        if event.what is What.REFUSED and said:
            text = f"pod {event.namespace}/{event.pod} would be refused now: {event.message}"
        if text is not None:
            is_action = event.what in (What.CORDONED, What.EVICTING)
            wrong = event.what in (What.WARNING, What.FAILED, What.LEFT, What.UNREACHABLE)
            click.echo(text + (said if is_action else ""), err=wrong)

    return tell


def _json() -> Tell:
    return lambda event: click.echo(as_json(event, datetime.now(UTC)))


def _live() -> tuple[Tell, Callable[[], Coroutine[Any, Any, None]], Callable[[], None]]:
    loop = asyncio.get_running_loop()
    progress, screen = Progress(loop.time()), Screen()

    def tell(event: Event) -> None:
        progress.add(event, loop.time())
        screen.show(progress.picture(loop.time()))

    async def redraw() -> None:
        while True:
            screen.show(progress.picture(loop.time()))
            await asyncio.sleep(_REDRAWN)

    return tell, redraw, lambda: screen.end(progress.picture(loop.time()))


class _Drain:
    def __init__(self, client: Client, nodes: Sequence[Node], options: Options, tell: Tell) -> None:
        self._client = client
        self._nodes = nodes
        self._names = [node.metadata.name for node in nodes]
        self._options = options
        self._tell = tell
        self._cordoned: list[str] = []

    async def run(self, dry_run: str) -> int:
        """The exit code."""
        try:
            code = await self._run(dry_run)
        except BaseException:
            await self._give_back()
            raise
        if code:
            await self._give_back()
        return code

    async def _run(self, dry_run: str) -> int:
        for node in self._nodes:
            await self._cordon(node, dry_run)
        watching = Watching(self._client, self._names)
        async with watching.running():
            for name, why in watching.unreadable.items():
                text = f"{name} cannot be read: {why}; only the server's answers tell"
                self._tell(Event(What.WARNING, message=text))
            selected = await self._selected()
            pods = [pod for pod in _by_node(watching, self._names) if selected(pod.metadata.uid)]
            found = await self._sorted(pods)
            if found.error:
                raise click.ClickException(found.error)
            if found.warning:
                self._tell(Event(What.WARNING, message=found.warning))
            if dry_run == "none":
                return await self._really(watching, found.go, selected)
            watching.namespaces = {pod.metadata.namespace for pod in found.go}
            units = dry_runs.ordered(await watching.draw(), found.go)
        if dry_run == "client":
            dry_runs.tell_order(units, self._tell)
            return 0
        asking = Evictions(self._client, self._options, dry_run=True)
        return 0 if await dry_runs.ask_server(units, asking, self._tell) else ERRORS

    async def _cordon(self, node: Node, dry_run: str) -> None:
        name = node.metadata.name
        if dry_run == "client":
            done = not node.spec.unschedulable
        else:
            done = await cordon(self._client, node, dry_run=dry_run == "server")
        if done and dry_run == "none":
            self._cordoned.append(name)
        said = "" if done else "already cordoned"
        self._tell(Event(What.CORDONED, node=name, message=said))

    async def _selected(self) -> Callable[[str], bool]:
        if not self._options.pod_selector:
            return lambda _uid: True
        found = await self._client.list(DETAILED_PODS, labels=self._options.pod_selector)
        return {pod.metadata.uid for pod in found.items}.__contains__

    async def _sorted(self, pods: Sequence[DetailedPod]) -> Sorted:
        missing = set()
        for namespace, name in sorted(daemon_sets_of(pods)):
            try:
                await self._client.get(_DAEMON_SETS, name, namespace)
            except NotFound:
                missing.add((namespace, name))
            except KubeError:
                continue  # it could only not be read
        return sort_out(pods, self._options, lambda *key: key not in missing)

    async def _really(
        self,
        watching: Watching,
        pods: Sequence[DetailedPod],
        selected: Callable[[str], bool],
    ) -> int:
        asking = Evictions(self._client, self._options)
        draining = Draining(
            watching,
            asking,
            self._names,
            self._options,
            self._tell,
            lambda: datetime.now(UTC),
            selected=selected,
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(RuntimeError, ValueError):  # only the main thread gets signals
                loop.add_signal_handler(number, self._stop, draining, number)
        try:
            result = await draining.run(pods)
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        return self._conclude(draining, result)

    def _stop(self, draining: Draining, number: signal.Signals) -> None:
        """The second signal ends it at once."""
        asyncio.get_running_loop().remove_signal_handler(number)
        draining.stop.set()

    def _conclude(self, draining: Draining, result: Result) -> int:
        left = draining.left()
        if result is Result.DRAINED or not left:
            self._tell(Event(What.ENDED, result=Result.DRAINED))
            return 0
        for event in left:
            self._tell(event)
        self._tell(Event(What.ENDED, result=result, message=self._advice(draining, result, left)))
        return ERRORS if result is Result.ERRORS else LEFT

    def _advice(self, draining: Draining, result: Result, left: Sequence[Event]) -> str:
        said = {
            Result.TIMEOUT: "not drained in time",
            Result.INTERRUPTED: "interrupted",
            Result.ERRORS: "not drained",
        }[result]
        nodes = sorted({event.node for event in left})
        lines = [f"{said}: {counted(len(left), 'pod')} left on {', '.join(nodes)}"]
        lines += draining.blocking()
        if not (self._options.uncordon_on_failure and self._cordoned):
            lines.append(
                "The nodes stay cordoned. To go on, run the same command again; to go back:"
            )
            lines.append(f"  kubectl uncordon {' '.join(self._names)}")
        return "\n".join(lines)

    async def _give_back(self) -> None:
        if not self._options.uncordon_on_failure:
            return
        with suppress(KubeError):
            for name in self._cordoned:
                await uncordon(self._client, [name])
                self._tell(Event(What.UNCORDONED, node=name))


def _by_node(watching: Watching, nodes: Sequence[str]) -> list[DetailedPod]:
    return [pod for node in nodes for pod in watching.on(node)]
