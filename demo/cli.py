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
    held.scenario: partial(drain.play, held=held) for held in (budgets.PUB, budgets.NATIVE)
}
SCENARIOS = DRAINS | {"rollout": rollout.play}
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo", description="Intact, shown live.")
    parser.add_argument(
        "scenario",
        nargs="?",
        choices=SCENARIOS,
        help="default: the drains, one after the other; the first one with --keep",
    )
    parser.add_argument(
        "--keep", action="store_true", help="after the first act, go on until Ctrl-C"
    )
    parser.add_argument(
        "--json", action="store_true", help="end with a summary of each as one JSON line"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    screen = Screen()
    try:
        names = [options.scenario] if options.scenario else list(DRAINS)
        summaries = [_play(name, screen, keep=options.keep) for name in names]
    except KeyboardInterrupt:
        screen.say("all of it has been cleaned up")
        return 0 if options.keep else INTERRUPTED
    except (DemoError, DevclusterError, KubeError) as error:
        screen.say(f"it cannot go on: {error}")
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
    """Cancelled by the first signal; whoever is impatient must not stop the cleaning up."""
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
    """All as Ctrl-C, also where the shell has set it to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS[1:]:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
