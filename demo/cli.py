"""`python -m demo [SCENARIO] [--keep] [--json]`."""

import argparse
import asyncio
import json
import logging
import signal
import sys
from collections.abc import Awaitable
from functools import partial
from typing import Protocol

from demo import budgets, drain, rollout
from demo.errors import DemoError
from demo.screen import Screen
from demo.stage import Stage
from devcluster import DevclusterError
from intact.kube.errors import KubeError


class Scenario(Protocol):
    def __call__(
        self, stage: Stage, screen: Screen, *, keep: bool
    ) -> Awaitable[dict[str, object]]: ...


DRAINS: dict[str, Scenario] = {
    kind.scenario: partial(drain.play, kind=kind) for kind in (budgets.PUB, budgets.NATIVE)
}
SCENARIOS = DRAINS | {"rollout": rollout.play}
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m demo", description="Shows on a real Kubernetes what Intact does."
    )
    parser.add_argument(
        "scenario",
        nargs="?",
        choices=SCENARIOS,
        help="default: drain, then pdb; with --keep, only drain",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="stop after the first act; keep all running until Ctrl-C",
    )
    parser.add_argument(
        "--json", action="store_true", help="end with one line of JSON for each scenario"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    screen = Screen()
    try:
        names = [options.scenario] if options.scenario else list(DRAINS)
        summaries = [_play(name, screen, keep=options.keep) for name in names]
    except KeyboardInterrupt:
        screen.say("everything is stopped and removed")
        return 0 if options.keep else INTERRUPTED
    except (DemoError, DevclusterError, KubeError) as error:
        screen.say(f"the demo failed: {error}")
        return 1
    if options.json:
        for summary in summaries:
            sys.stdout.write(json.dumps(summary) + "\n")
    return 0


def _play(name: str, screen: Screen, *, keep: bool) -> dict[str, object]:
    _end_on_signals()
    with Stage(screen.say) as stage:
        return asyncio.run(_run(SCENARIOS[name](stage, screen, keep=keep)))


async def _run(play: Awaitable[dict[str, object]]) -> dict[str, object]:
    """The first signal cancels it; further ones must not interrupt the cleaning up."""
    playing = asyncio.ensure_future(play)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _cancel_once, playing)
    try:
        return await playing
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _cancel_once(playing: asyncio.Future[dict[str, object]]) -> None:
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    playing.cancel()


def _end_on_signals() -> None:
    """Let all signals act as Ctrl-C, also if the shell has set SIGINT to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS[1:]:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
