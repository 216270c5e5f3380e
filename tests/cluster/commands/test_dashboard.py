"""The page of `intact dashboard` on a real Kubernetes."""

import asyncio
import sys
from pathlib import Path

from aiohttp import ClientSession

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from tests.support.kubeconfigs import write_kubeconfig
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


async def test_people_who_may_only_view_one_namespace(
    ns: NamespaceUnderTest, tmp_path: Path
) -> None:
    await ns.pods("mine", labels={"app": "llm", "test": ns.name})
    await kubectl(ns, "create", "serviceaccount", "viewer")
    account = f"--serviceaccount={ns.name}:viewer"
    await kubectl(ns, "create", "rolebinding", "viewer", "--clusterrole=view", account)
    user = {"token": await kubectl(ns, "create", "token", "viewer")}
    kubeconfig = write_kubeconfig(ns.cluster, tmp_path / "viewer", user=user)
    everywhere = await dashboard(kubeconfig)
    said, _ = await everywhere.communicate()
    assert everywhere.returncode == 1
    assert b"forbidden" in said
    assert b"-n NAMESPACE asks for one namespace only" in said
    process = await dashboard(kubeconfig, "-n", ns.name)
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        assert line.startswith("open http://127.0.0.1:"), line
        async with ClientSession() as http:
            status, text = await read(http, line.removeprefix("open ").strip())
        assert status == 200
        assert "/why/pod/" + ns.name + "/mine" in text
        assert "not read: nodes (" in text
    finally:
        process.terminate()
        await process.wait()


async def kubectl(ns: NamespaceUnderTest, *arguments: str) -> str:
    code, said = await ns.kubectl(*arguments)
    assert code == 0, said
    return said.strip()


async def dashboard(kubeconfig: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "intact.cli", "dashboard", "--kubeconfig", str(kubeconfig), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def read(http: ClientSession, address: str) -> tuple[int, str]:
    async with http.get(address) as answer:
        return answer.status, await answer.text()
