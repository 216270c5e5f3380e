"""The options that several commands share: each has one name, one help text and one meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from intact.cli.durations import Duration, WorkloadDuration
from intact.operator.names import CONTROLLERS, DEFAULT_CONTROLLERS, NAMESPACE

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster a command works on, and in which of its namespaces.

    What is None is what kubectl would take: its kubeconfig, the current context, the namespace of
    that context.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


_KUBECONFIG = click.option(
    "--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it."
)
_CONTEXT = click.option(
    "--context", metavar="NAME", help="Context of the kubeconfig; else its current one."
)


def given(_context: object, _option: object, value: str | None) -> str | None:
    """kubectl takes -n=NAME, too; click takes the equals sign for a part of the name."""
    return value.removeprefix("=") if value else None


_GROUP_NAMESPACE = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=given,
    help="Namespace; else the context's.",
)


class _Output(click.Choice[str]):
    """Also as -o=json, which kubectl takes."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        return super().convert(value.removeprefix("="), param, ctx)


output_option = click.option(
    "-o",
    "--output",
    type=_Output(["json", "yaml", "wide", "name"]),
    callback=lambda _context, _option, value: value or "",
    help="Format; else text.",
)

document_option = click.option(
    "-o",
    "--output",
    type=_Output(["json", "yaml"]),
    callback=lambda _context, _option, value: value or "",
    help="Format; else text.",
)

everywhere_option = click.option(
    "-A", "--all-namespaces", "everywhere", is_flag=True, help="Of all namespaces."
)

operator_namespace = click.option(
    "--namespace",
    metavar="NAME",
    default=NAMESPACE,
    show_default=True,
    help="Namespace that Intact runs in.",
)


controllers_option = click.option(
    "--controllers",
    metavar="LIST",
    default=",".join(DEFAULT_CONTROLLERS),
    show_default=True,
    help=f"What to run, separated by commas: {', '.join(CONTROLLERS)}.",
)


def parse_controllers(text: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in chosen if name not in CONTROLLERS]
    if unknown or not chosen:
        raise click.UsageError(
            f"--controllers {text!r}: {', '.join(unknown) or 'nothing'} is not one of "
            f"{', '.join(CONTROLLERS)}"
        )
    return chosen


def cluster_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds --kubeconfig and --context. The command takes them together, as `cluster`."""

    @_KUBECONFIG
    @_CONTEXT
    @wraps(command)
    def called(kubeconfig: str | None, context: str | None, **given: object) -> R:
        return command(cluster=Cluster(kubeconfig, context), **given)

    return called


def group_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds --kubeconfig, --context and --namespace, for commands about one RoleBasedGroup. The
    command takes them together, as `cluster`."""

    @_KUBECONFIG
    @_CONTEXT
    @_GROUP_NAMESPACE
    @wraps(command)
    def called(
        kubeconfig: str | None, context: str | None, namespace: str | None, **given: object
    ) -> R:
        return command(cluster=Cluster(kubeconfig, context, namespace), **given)

    return called


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What all rehearsals are told."""

    source: str | None
    """A file of `intact snapshot`; None for the cluster itself."""
    output: str
    force: bool
    delete_emptydir_data: bool
    ready_after: dict[str, float]
    gone_after: dict[str, float]
    horizon: float
    film: str | None = None
    """The file that the course is written to."""


node_selector = click.option(
    "-l", "--selector", metavar="SELECTOR", help="The nodes with these labels."
)


def rehearsal_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options of all rehearsals, which the command takes together, as `rehearsal`."""

    @click.option("--from", "source", metavar="FILE", help="A snapshot; else the cluster itself.")
    @click.option(
        "--ready-after",
        type=WorkloadDuration(),
        multiple=True,
        metavar="[WORKLOAD=]TIME",
        help="How long pods take to become ready; else as observed. May be repeated.",
    )
    @click.option(
        "--gone-after",
        type=WorkloadDuration(),
        multiple=True,
        metavar="[WORKLOAD=]TIME",
        help="How long pods take to terminate; else 1s. May be repeated.",
    )
    @click.option("--force", is_flag=True, help="Also evict pods without a controller.")
    @click.option("--delete-emptydir-data", is_flag=True, help="Also evict pods with an emptyDir.")
    @click.option(
        "--horizon",
        type=Duration(),
        default="24h",
        show_default=True,
        metavar="TIME",
        help="Simulated time after which the rehearsal ends.",
    )
    @click.option(
        "--film",
        type=click.Path(dir_okay=False, writable=True),
        metavar="FILE",
        help="Also write the course of the rehearsal; compressed if it ends in .gz.",
    )
    @click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Format of the report.",
    )
    @wraps(command)
    def called(
        source: str | None,
        output: str,
        force: bool,
        delete_emptydir_data: bool,
        ready_after: tuple[tuple[str, float], ...],
        gone_after: tuple[tuple[str, float], ...],
        horizon: float,
        film: str | None,
        **given: object,
    ) -> R:
        rehearsal = Rehearsal(
            source,
            output,
            force,
            delete_emptydir_data,
            dict(ready_after),
            dict(gone_after),
            horizon,
            film,
        )
        return command(rehearsal=rehearsal, **given)

    return called


findings_output = click.option(
    "-o",
    "--output",
    type=_Output(["json", "sarif"]),
    callback=lambda _context, _option, value: value or "",
    help="Format; else text.",
)
