"""The options of `intact check`, as kubectl names them."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click

from intact.cli.durations import Duration
from intact.cli.options import Cluster, Output, cluster_options, given

R = TypeVar("R")
FORMATS = ["json", "sarif"]


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
    @cluster_options
    @click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        callback=given,
        help="Namespace to check; else the context's. With -f, of objects that name none.",
    )
    @click.option("-A", "--all-namespaces", is_flag=True, help="Check all namespaces.")
    @click.option(
        "--wait",
        type=Duration(),
        metavar="TIME",
        help="Wait so long until Intact is installed and works.",
    )
    @click.option(
        "-o",
        "--output",
        type=Output(FORMATS),
        callback=lambda _context, _option, value: value or "",
        help="Format; else text.",
    )
    @wraps(command)
    def called(
        cluster: Cluster,
        files: tuple[str, ...],
        namespace: str | None,
        all_namespaces: bool,
        wait: float | None,
        output: str,
    ) -> R:
        if all_namespaces and namespace:
            raise click.UsageError("give -n or -A, not both")
        if files and (all_namespaces or wait is not None):
            raise click.UsageError("-A and --wait are for a cluster, not for files")
        chosen = Cluster(cluster.kubeconfig, cluster.context, namespace)
        return command(
            cluster=chosen, files=files, all_namespaces=all_namespaces, wait=wait, output=output
        )

    return called
