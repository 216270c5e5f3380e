"""`intact run` on a real cluster, as processes of their own."""

import asyncio
import json
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport, ssl_context
from intact.kube.lease import Timing
from intact.kube.resources import LEASES, untyped
from tests.support.intact_process import IntactProcess, intact_run
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.objects import PODS, SERVICE_ACCOUNTS, pod
from tests.support.proxy import proxy_to

CLUSTER_ROLE_BINDINGS = untyped(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)

SLACK = 10.0
"""Seconds that a busy machine may add to the times of a lease, which tests/unit/kube/test_lease.py
measures exactly."""


@pytest.fixture
def kubeconfig(cluster: Cluster, namespace: str, tmp_path: Path) -> Path:
    """With a namespace of its own for the Lease of this test."""
    return write_kubeconfig(cluster, tmp_path / "kubeconfig", namespace=namespace)


def client_of(kubeconfig: Path) -> Client:
    return Client(HttpTransport(config.load(str(kubeconfig))))


async def test_intact_run_connects_leads_watches_and_serves(
    kubeconfig: Path, namespace: str
) -> None:
    async with client_of(kubeconfig) as client, intact_run(kubeconfig) as intact:
        await intact.started()
        assert await intact.get("/healthz") == (200, "ok\n")
        text = await intact.ready()
        *parts, last = text.splitlines()
        assert {"[+] pods ok", "[+] lease ok"} <= set(parts)
        assert all(part.startswith("[+] ") for part in parts)
        assert last == "ready"
        await until_leading(intact)

        before = await intact.metric('intact_store_objects{resource="pods"}')
        body = pod("p")
        body["spec"]["schedulerName"] = "nobody"
        await client.create(PODS, body, namespace)
        async with asyncio.timeout(30):
            while await intact.metric('intact_store_objects{resource="pods"}') < before + 1:
                await asyncio.sleep(0.02)

        intact.process.send_signal(signal.SIGTERM)
        assert await intact.ended() == 0
        lease = await client.get(LEASES, "intact", namespace)
        assert lease.spec.holder_identity in ("", None), "the lease is released for the next leader"


async def test_one_leads_at_a_time_and_a_dead_leader_is_replaced(kubeconfig: Path) -> None:
    timing = Timing()
    async with intact_run(kubeconfig) as one, intact_run(kubeconfig) as two:
        for each in (one, two):
            await each.started()
            await each.ready()
        first, second = await leader_of(one, two)

        # Frozen for longer than its lease, the leader must not think that it still leads.
        first.process.send_signal(signal.SIGSTOP)
        await until_leading(second, within=timing.duration + SLACK)
        first.process.send_signal(signal.SIGCONT)
        await sampled_alone(second, first, seconds=timing.retry_period * 2)

        # A killed leader is replaced once its lease has expired.
        second.process.kill()
        await second.ended()
        await until_leading(first, within=timing.duration + SLACK)


async def test_a_leader_that_ends_cleanly_is_replaced_at_once(kubeconfig: Path) -> None:
    async with intact_run(kubeconfig) as one, intact_run(kubeconfig) as two:
        for each in (one, two):
            await each.started()
            await each.ready()
        first, second = await leader_of(one, two)
        first.process.terminate()
        assert await first.ended() == 0
        await until_leading(second, within=Timing().renew_deadline)


async def test_intact_run_with_an_unknown_context_ends_with_one_line(kubeconfig: Path) -> None:
    async with intact_run(kubeconfig, "--context", "elsewhere") as intact:
        assert await intact.ended() == 1
        [line] = intact.log
        assert "no context 'elsewhere'" in line
        assert str(kubeconfig) in line


async def test_intact_run_on_a_port_in_use_ends_with_one_line(kubeconfig: Path) -> None:
    async with intact_run(kubeconfig) as one:
        await one.started()
        async with intact_run(kubeconfig, "--http-bind", one.address) as two:
            assert await two.ended() == 1
            assert two.log == [f"Error: cannot listen on {one.address}: Address already in use"]


async def test_intact_run_warns_or_ends_if_budgets_in_groups_have_no_webhook(
    kubeconfig: Path,
) -> None:
    problem = (
        "PodDisruptionBudgets that count groups are not enforced, because no webhook is served"
    )
    async with intact_run(kubeconfig) as intact:
        await intact.started()
        await intact.ready()
        assert [line for line in intact.log if "WARNING" in line and problem in line]
    async with intact_run(kubeconfig, "--controllers", "pdb") as alone:
        assert await alone.ended() == 1
        [line] = alone.log
        assert line.startswith(f"Error: {problem}")
        assert "--webhook-bind" in line


async def test_intact_run_waits_for_an_unreachable_server(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    direct = config.load(str(cluster.kubeconfig))
    address = urlsplit(direct.server)
    assert address.hostname is not None
    assert address.port is not None
    context = ssl_context(direct, (direct.user.client_certificate, direct.user.client_key))
    async with proxy_to(address.hostname, address.port, context) as proxy:
        proxy.accepting = False
        server = f"http://127.0.0.1:{proxy.port}"
        path = write_kubeconfig(cluster, tmp_path / "far", namespace=namespace, server=server)
        async with intact_run(path) as intact:
            await intact.started()
            text = await intact.ready(503, server)
            assert "[-] pods: " in text
            assert await intact.get("/healthz") == (200, "ok\n")
            await intact.logged("WARNING", server)
            proxy.accepting = True
            await intact.ready()


async def test_a_forbidden_watch_is_reported_and_retried(
    cluster: Cluster, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    async with client_of(kubeconfig) as client:
        await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "intact"}}, namespace)
        answer = await client.create_subresource(
            SERVICE_ACCOUNTS,
            "intact",
            namespace,
            "token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        )
        user = {"token": answer["status"]["token"]}
        path = write_kubeconfig(cluster, tmp_path / "weak", namespace=namespace, user=user)
        async with intact_run(path) as intact:
            await intact.started()
            text = await intact.ready(503, "pods is forbidden")
            assert f"system:serviceaccount:{namespace}:intact" in text
            await intact.logged("pods is forbidden")
            assert not await intact.leads()
            await client.create(CLUSTER_ROLE_BINDINGS, binding(namespace))
            try:
                await intact.ready()
            finally:
                await client.delete(CLUSTER_ROLE_BINDINGS, namespace)


async def test_the_json_log_has_one_object_a_line(kubeconfig: Path) -> None:
    async with intact_run(kubeconfig, "--log-format", "json") as intact:
        await intact.started()
        await intact.ready()
        intact.process.terminate()
        assert await intact.ended() == 0
        lines = [json.loads(line) for line in intact.log]
        assert {"ts", "level", "logger", "msg"} <= lines[0].keys()
        assert "stopping" in [line["msg"] for line in lines]


def binding(namespace: str) -> dict[str, object]:
    return {
        "metadata": {"name": namespace},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "intact", "namespace": namespace}],
    }


async def until_leading(intact: IntactProcess, within: float = 30) -> None:
    async with asyncio.timeout(within):
        while not await intact.leads():
            await asyncio.sleep(0.05)


async def leader_of(one: IntactProcess, two: IntactProcess) -> tuple[IntactProcess, IntactProcess]:
    """The process that leads, and the other."""
    async with asyncio.timeout(30):
        while True:
            leading = [each for each in (one, two) if await each.leads()]
            assert len(leading) < 2
            if leading:
                return (one, two) if leading == [one] else (two, one)
            await asyncio.sleep(0.05)


async def sampled_alone(leader: IntactProcess, other: IntactProcess, seconds: float) -> None:
    """Sample both repeatedly: only `leader` leads."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    samples = 0
    while loop.time() < end or samples <= 10:
        leading = list(await asyncio.gather(leader.leads(), other.leads()))
        assert leading == [True, False]
        samples += 1
        await asyncio.sleep(0.02)
