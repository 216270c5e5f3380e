"""The options of `intact drain` on the command line: those of kubectl drain, and a few more."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

import click

from intact.cli.drain.options import Options
from intact.cli.durations import Duration

R = TypeVar("R")
_NAMES = [field.name for field in fields(Options)]
_OPTIONS = (
    click.option("--ignore-daemonsets", is_flag=True, help="Leave pods of DaemonSets alone."),
    click.option("--delete-emptydir-data", is_flag=True, help="Also evict pods with an emptyDir."),
    click.option("--force", is_flag=True, help="Also evict pods without a controller."),
    click.option(
        "--grace-period",
        type=int,
        default=-1,
        show_default=True,
        metavar="SECONDS",
        help="Time that each pod gets to terminate; -1 for its own.",
    ),
    click.option(
        "--timeout",
        type=Duration(),
        default="0s",
        show_default=True,
        metavar="TIME",
        help="When to give up; 0s for never.",
    ),
    click.option("--pod-selector", metavar="SELECTOR", default="", help="Only these pods."),
    click.option(
        "--disable-eviction",
        is_flag=True,
        help="Delete pods: PodDisruptionBudgets do not hold them then.",
    ),
    click.option(
        "--skip-wait-for-delete-timeout",
        type=Duration(),
        default="0s",
        show_default=True,
        metavar="TIME",
        help="Do not wait for pods that have been terminating for longer.",
    ),
    click.option(
        "--chunk-size", type=int, default=500, hidden=True, help="For scripts; without effect."
    ),
    click.option(
        "--dry-run",
        type=click.Choice(["none", "client", "server", "rehearse"]),
        default="none",
        show_default=True,
        help="Only say what would be done.",
    ),
    click.option(
        "--parallel",
        type=click.IntRange(min=1),
        metavar="N",
        help="Nodes that are emptied at a time; else all.",
    ),
    click.option(
        "--pause-between",
        type=Duration(),
        default="0s",
        show_default=True,
        metavar="TIME",
        help="How long to wait before the next nodes.",
    ),
    click.option(
        "--uncordon-on-failure",
        is_flag=True,
        help="Uncordon the nodes that it has cordoned, if it ends before they are empty.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="json is one event a line.",
    ),
)


def drain_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds them all. The command takes `dry_run` and `output`, and the others as `options`."""

    @wraps(command)
    def called(**given: Any) -> R:
        del given["chunk_size"]
        options = Options(**{name: given.pop(name) for name in _NAMES})
        return command(options=options, **given)

    found: Callable[..., R] = called
    for option in reversed(_OPTIONS):
        found = option(found)
    return found
