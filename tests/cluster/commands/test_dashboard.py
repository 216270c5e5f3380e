"""The page of `intact dashboard` on a real Kubernetes."""

import asyncio

from aiohttp import ClientSession

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from tests.support.namespace_under_test import NamespaceUnderTest


async def test_a_new_pod_is_shown_and_explained(ns: NamespaceUnderTest) -> None:
    labels = {"app": "llm", "test": ns.name}
    await ns.pods("first", labels=labels)
    loaded = config.load(str(ns.cluster.kubeconfig))
    async with Client(HttpTransport(loaded)) as client, ClientSession() as http:
        page = Dashboard(LiveCluster(client, "cluster"))
        async with page.serving(), http.get(f"{page.address}changes") as changes:
            assert (await changes.content.readline()).startswith(b"data:")
            await ns.pods("second", labels=labels)
            why = f"{page.address}why/pod/{ns.name}/second"
            async with asyncio.timeout(30):
                status, text = await read(http, why)
                while status != 200:
                    while not (await changes.content.readline()).startswith(b"data:"):
                        pass
                    status, text = await read(http, why)
            assert "no budget covers it" in text


async def read(http: ClientSession, address: str) -> tuple[int, str]:
    async with http.get(address) as answer:
        return answer.status, await answer.text()
