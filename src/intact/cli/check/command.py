"""`intact check`: asks the installation, then looks at the budgets of a cluster or of files."""

import asyncio
import sys
from collections.abc import Sequence
from importlib.metadata import version

import click

from intact.cli.check.from_files import check_files
from intact.cli.check.installation.survey import Survey, survey
from intact.cli.check.live import check_cluster
from intact.cli.check.manifests import read_manifests
from intact.cli.check.report import Report
from intact.cli.check.sarif import sarif
from intact.cli.options import Cluster
from intact.cli.output import document
from intact.cli.session import session
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.picture.coverage import PDB, PUB

_PAUSE = 1.0
"""Seconds between two looks at an installation that is waited for."""


def check(
    cluster: Cluster, files: Sequence[str], *, all_namespaces: bool, wait: float | None, output: str
) -> None:
    """Ends the process with the exit code."""
    if files:
        report = of_files(files, cluster.namespace or "")
    else:
        report = asyncio.run(_of_cluster(cluster, all_namespaces=all_namespaces, wait=wait))
    show(report, output)
    sys.exit(report.exit_code)


def of_files(files: Sequence[str], namespace: str) -> Report:
    manifests, problems = read_manifests(files)
    budgets = sum(one.value["kind"] in (PUB, PDB) for one in manifests)
    return Report(findings=check_files(manifests, problems, namespace), budgets=budgets)


async def _of_cluster(cluster: Cluster, *, all_namespaces: bool, wait: float | None) -> Report:
    async with session(cluster) as (client, namespace):
        found = await surveyed(client, namespace, wait)
        findings, unreadable, budgets = await check_cluster(
            client, "" if all_namespaces else namespace, found.exempt
        )
        return Report(found.lines, findings, budgets, unreadable)


async def surveyed(client: Client, namespace: str, wait: float | None) -> Survey:
    """Waits for so many seconds until Intact is installed and nothing fails."""
    loop = asyncio.get_running_loop()
    end = loop.time() + (wait or 0.0)
    while True:
        try:
            found = await survey(client, namespace)
            if found.healthy or loop.time() >= end:
                return found
        except KubeError:
            if loop.time() >= end:
                raise
        await asyncio.sleep(min(_PAUSE, max(0.0, end - loop.time())))


def show(report: Report, output: str) -> None:
    if output == "json":
        click.echo(document(report.document(), "json"))
    elif output == "sarif":
        click.echo(document(sarif(report, version("intact")), "json"))
    else:
        click.echo("\n".join(report.text()))
