"""Pages for tests of the page, with what they show."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster
from intact.kube.resources import NODES
from tests.support.objects import PODS
from tests.support.pictures import pdb, pod, pub
from tests.unit.cli.inhabited import Inhabited, inhabited

MARKUP = "<b>bold</b>"


@asynccontextmanager
async def served(directory: Path) -> AsyncGenerator[tuple[Dashboard, Inhabited]]:
    """Two groups of two pods, of which one is not ready, and a node."""
    pods = [
        pod(f"s{shard}-{number}", group=f"s{shard}", ready=(shard, number) != (1, 1))
        for shard in range(2)
        for number in range(2)
    ]
    async with inhabited(directory, *pods, pdbs=[pdb()], pubs=[pub()], intact=True) as cluster:
        await cluster.client.create(NODES, {"metadata": {"name": "node-0"}})
        page = Dashboard(LiveCluster(cluster.client, MARKUP))
        async with page.serving():
            yield page, cluster


async def make_ready(cluster: Inhabited, name: str, *, ready: bool) -> None:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    body = {"status": {"conditions": [condition]}}
    await cluster.client.patch(PODS, body, name, "llm", subresource="status")
