"""Serves the page of `intact dashboard`, and says when its stores are filled."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.child import end_with_parent, say
from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport


class _Heard(LiveCluster):
    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        async with super().running():
            say("filled")
            yield


async def main() -> None:
    end_with_parent()
    async with Client(HttpTransport(from_kubeconfig([Path(sys.argv[1])]))) as client:
        page = Dashboard(_Heard(client, "bench"))
        async with page.serving():
            say("serving", address=page.address, pid=os.getpid())
            await page.run()


if __name__ == "__main__":
    asyncio.run(main())
