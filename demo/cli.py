"""`python -m demo [SCENARIO | page] [--kubernetes] [--keep] [--json]`."""

import argparse
import asyncio
import json
import logging
import signal
import sys
from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

from demo import budgets, drain, rollout
from demo.errors import DemoError
from demo.sandbox_stage import SandboxStage
from demo.screen import Screen
from demo.stage import Stage
from intact.cli.options import Cluster
from intact.kube.errors import KubeError

Summaries = list[dict[str, object]]


class Scenario(Protocol):
    def __call__(self, stage: Stage, screen: Screen, *, keep: bool) -> Awaitable[Summaries]: ...


SCENARIOS: dict[str, Scenario] = {
    budgets.PUB.scenario: partial(drain.play, kinds=[budgets.PUB]),
    budgets.NATIVE.scenario: partial(drain.play, kinds=[budgets.NATIVE]),
    "rollout": rollout.play,
}
ALL: Sequence[Scenario] = (
    partial(drain.play, kinds=[budgets.PUB, budgets.NATIVE]),
    partial(rollout.play, briefly=True),
)
PAGE = "page"
NEXT = (
    "try next:",
    "  make run ARGS=page           open a page that shows all of this, live, in your browser",
    "  make run ARGS=rollout        a rollout that fails, and the way back",
    "  make run ARGS=--kubernetes   all of this on a real Kubernetes, which is built first",
    "  docs/rehearse.md             what a drain would do to your own cluster",
)
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    options = _parse()
    if options.scenario == PAGE:
        return _show_page()
    logging.basicConfig(level=logging.ERROR)
    screen = Screen()
    scenarios = [SCENARIOS[options.scenario]] if options.scenario else ALL
    if options.keep:
        scenarios = scenarios[:1]
    try:
        summaries = [
            each
            for scenario in scenarios
            for each in _play(scenario, screen, kubernetes=options.kubernetes, keep=options.keep)
        ]
    except KeyboardInterrupt:
        screen.say("everything is stopped and removed")
        return 0 if options.keep else INTERRUPTED
    except (DemoError, KubeError) as error:
        screen.say(f"the demo failed: {error}")
        return 1
    if options.json:
        for summary in summaries:
            sys.stdout.write(json.dumps(summary) + "\n")
    elif not options.scenario:
        screen.say_plainly(*NEXT)
    return 0


def _show_page() -> int:
    from intact.cli.dashboard import command  # noqa: PLC0415 - only a page takes its time

    _end_on_signals()
    command.dashboard(Cluster(), 0, None, opened=False, sandbox=True)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m demo", description="Shows what Intact does, on a cluster in this process."
    )
    parser.add_argument(
        "scenario",
        nargs="?",
        choices=(*SCENARIOS, PAGE),
        help="default: a drain under both kinds of budget, then a rollout; "
        f"{PAGE}: all of this on a page, until Ctrl-C",
    )
    parser.add_argument(
        "--kubernetes", action="store_true", help="on a real Kubernetes, which is built first, once"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="with --kubernetes: stop after the first act; keep all running until Ctrl-C",
    )
    parser.add_argument(
        "--json", action="store_true", help="end with one line of JSON for each scenario"
    )
    options = parser.parse_args()
    if options.keep and not options.kubernetes:
        parser.error("--keep needs --kubernetes: kubectl cannot reach a cluster in a process")
    if options.scenario == PAGE and (options.kubernetes or options.json):
        parser.error(f"{PAGE} is of the cluster in this process, and goes without other options")
    return options


def _play(scenario: Scenario, screen: Screen, *, kubernetes: bool, keep: bool) -> Summaries:
    _end_on_signals()
    with _stage(screen, kubernetes=kubernetes) as stage:
        return asyncio.run(_run(scenario(stage, screen, keep=keep)))


def _stage(screen: Screen, *, kubernetes: bool) -> AbstractContextManager[Stage]:
    if not kubernetes:
        return nullcontext(SandboxStage(screen.say))
    from demo.kubernetes_stage import KubernetesStage  # noqa: PLC0415 - it takes its time

    return KubernetesStage(screen.say)


async def _run(play: Awaitable[Summaries]) -> Summaries:
    """The first signal cancels it; further ones must not interrupt the cleaning up."""
    playing = asyncio.ensure_future(play)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _cancel_once, playing)
    try:
        return await playing
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _cancel_once(playing: asyncio.Future[Summaries]) -> None:
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    playing.cancel()


def _end_on_signals() -> None:
    """Let all signals act as Ctrl-C, also if the shell has set SIGINT to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS[1:]:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
