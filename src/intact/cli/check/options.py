"""The options of `intact check`, as kubectl names them."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click

from intact.cli.durations import Duration
from intact.cli.options import Cluster, findings_output, group_options

R = TypeVar("R")


def check_options(command: Callable[..., R]) -> Callable[..., R]:
    @click.option(
        "-f",
        "--filename",
        "files",
        metavar="FILE",
        multiple=True,
        help="Check manifests, without a cluster: files, directories, - for standard input. May "
        "be repeated.",
    )
    @group_options
    @click.option("-A", "--all-namespaces", is_flag=True, help="Check all namespaces.")
    @click.option(
        "--wait",
        type=Duration(),
        metavar="TIME",
        help="Wait so long until Intact is installed and works.",
    )
    @findings_output
    @wraps(command)
    def called(
        cluster: Cluster,
        files: tuple[str, ...],
        all_namespaces: bool,
        wait: float | None,
        output: str,
    ) -> R:
        if all_namespaces and cluster.namespace:
            raise click.UsageError("give -n or -A, not both")
        if files and (all_namespaces or wait is not None):
            raise click.UsageError("-A and --wait are for a cluster, not for files")
        return command(
            cluster=cluster, files=files, all_namespaces=all_namespaces, wait=wait, output=output
        )

    return called
