"""Strangers at the webhook port of a running Intact: bombs, idle connections and forged reviews.

Meanwhile admissions are answered in time, and afterwards the budget is exact and the processes are
within the memory limit of the manifests.
"""

import asyncio
import base64
import logging
import re
import socket
import ssl
import time
import zlib
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from devcluster.operator_process import OperatorProcess
from intact.operator.install.settings import MEMORY_LIMIT
from intact.operator.webhook.configuration import NAME, VALIDATING
from tests.support.admission import review
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually

log = logging.getLogger(__name__)

WEB = {"app": "web"}
ONE = {"selector": {"matchLabels": WEB}, "maxUnavailable": 1}
BOMBS, IDLE, FORGED = 30, 2000, 10_000
ANSWER_WITHIN = 5.0
"""Seconds; the API server waits for 10."""
MOST_LINES = 100
"""That an attack may add to the log of one process."""


class Strangers:
    """Clients that reach the port and know nothing else."""

    def __init__(self, url: str, bundle: bytes) -> None:
        parts = urlsplit(url)
        self.host, self.port = str(parts.hostname), parts.port or 443
        self.context = ssl.create_default_context(cadata=bundle.decode())
        self.answers: Counter[str] = Counter()

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, ssl=self.context)

    async def post(self, path: str, body: bytes, *headers: str) -> None:
        """On a connection of its own."""
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await self.open()
            try:
                writer.write(self._head(path, body, *headers))
                for start in range(0, len(body), 2**16):
                    writer.write(body[start : start + 2**16])
                    await writer.drain()
                self._note(await reader.readline())
            finally:
                writer.transport.abort()

    async def forge(self, paths: list[str], bodies: list[bytes]) -> None:
        """One after another on one connection, and on the next one when it is closed."""
        reader, writer = None, None
        for number, body in enumerate(bodies):
            while True:
                try:
                    if writer is None or reader is None:
                        reader, writer = await self.open()
                    writer.write(self._head(paths[number % len(paths)], body) + body)
                    line = await reader.readline()
                    length = 0
                    while (header := await reader.readline()) not in (b"\r\n", b""):
                        if header.lower().startswith(b"content-length:"):
                            length = int(header.split(b":")[1])
                    await reader.readexactly(length)
                    if not line:
                        raise ConnectionResetError
                except (OSError, asyncio.IncompleteReadError):
                    if writer is not None:
                        writer.transport.abort()
                    reader = writer = None
                else:
                    self._note(line)
                    break
        if writer is not None:
            writer.transport.abort()

    @asynccontextmanager
    async def idle(self, number: int) -> AsyncGenerator[None, None]:
        """Half of them only connect, the others also shake hands; then they do nothing."""
        silent: list[socket.socket] = []
        writers: list[asyncio.StreamWriter] = []

        async def shake(times: int) -> None:
            for _ in range(times):
                with suppress(OSError):
                    writers.append((await self.open())[1])

        try:
            loop = asyncio.get_running_loop()
            for _ in range(number // 2):
                one = socket.socket()
                one.setblocking(False)
                silent.append(one)
                await loop.sock_connect(one, (self.host, self.port))
            await asyncio.gather(*(shake(number // 2 // 20) for _ in range(20)))
            yield
        finally:
            for one in silent:
                one.close()
            for writer in writers:
                writer.transport.abort()

    def _head(self, path: str, body: bytes, *headers: str) -> bytes:
        lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
        return "\r\n".join([*lines, "", ""]).encode()

    def _note(self, line: bytes) -> None:
        self.answers[line.decode().strip().partition(" ")[2]] += 1


def bomb() -> bytes:
    """3 GiB of zeros, in 3 MiB."""
    packing = zlib.compressobj(wbits=31)
    first = packing.compress(bytes(2**26)) + packing.flush(zlib.Z_FULL_FLUSH)
    again = packing.compress(bytes(2**26)) + packing.flush(zlib.Z_FULL_FLUSH)
    return first + 47 * again


def forged(namespace: str, number: int) -> bytes:
    """Evictions and deletions of pods that are there, and of others, with versions of no server."""
    metadata = {
        "name": ("a", "b", "c", f"x-{number}\n")[number % 4],
        "namespace": namespace,
        "labels": WEB,
        "uid": f"{number}",
        "resourceVersion": ("999999999999999", "abc")[number % 2],
    }
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return review(
        operation="DELETE" if number % 3 else "CREATE",
        resource={"group": "", "version": "v1", "resource": "pods"},
        subResource="" if number % 3 else "eviction",
        name=metadata["name"],
        namespace=namespace,
        userInfo={"username": "mallory\n2026-01-01 INFO intact: all is well"},
        oldObject={"metadata": metadata, "status": ready} if number % 3 else None,
        object=None if number % 3 else {"metadata": metadata},
    )


def memory(operator: OperatorProcess) -> float:
    """MiB that it had in memory at most since `forget_memory`."""
    status = Path(f"/proc/{operator.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def forget_memory(operator: OperatorProcess) -> None:
    Path(f"/proc/{operator.process.pid}/clear_refs").write_text("5")


async def test_strangers_at_the_port_cost_neither_memory_nor_time_nor_budget(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.pods("a", "b", "c", labels=WEB)
    await ns.budget(ONE, total_replicas=3, unavailable_allowed=1)
    [hook, *_] = (await ns.client.get(VALIDATING, NAME)).webhooks or []
    url = hook["clientConfig"]["url"]
    strangers = Strangers(url, base64.b64decode(hook["clientConfig"]["caBundle"]))
    lines = [operator.log.count("\n") for operator in intact_cluster.operators]
    for operator in intact_cluster.operators:
        forget_memory(operator)
    before = await ns.status()
    attacked = True
    slowest = answered = 0.0

    async def admit() -> None:
        nonlocal slowest, answered
        while attacked:
            began = time.monotonic()
            answer = await ns.evict("a", dry_run="All")
            slowest = max(slowest, time.monotonic() - began)
            assert answer.code in (200, 201), answer
            answered += 1

    paths = ["/gate", f"/{'0' * 32}/gate", "/gate/pdb-status", "/"]
    bodies = [forged(ns.name, number) for number in range(FORGED)]
    packed = bomb()
    assert len(packed) > 2.5 * 2**20
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        admitting = group.create_task(admit())
        async with strangers.idle(IDLE), asyncio.TaskGroup() as attack:
            for number in range(BOMBS):
                headers = ("Content-Encoding: gzip",)
                attack.create_task(strangers.post(paths[number % 2], packed, *headers))
            for share in range(20):
                attack.create_task(strangers.forge(paths, bodies[share::20]))
        attacked = False
        await admitting
    took = time.monotonic() - began

    used = [memory(operator) for operator in intact_cluster.operators]
    log.info(
        "%.1f s; at most %.0f MiB; %d admissions, the slowest took %.2f s; strangers got %s",
        *(took, max(used), answered, slowest, dict(strangers.answers)),
    )
    assert strangers.answers["404 Not Found"] >= FORGED
    assert not {status for status in strangers.answers if status.startswith(("2", "5"))}
    assert slowest < ANSWER_WITHIN
    assert answered > 10
    assert max(used) < mebibytes(MEMORY_LIMIT)
    for operator, known in zip(intact_cluster.operators, lines, strict=True):
        assert operator.is_ready()
        assert operator.log.count("\n") - known < MOST_LINES
        assert "mallory" not in operator.log
    refused = intact_cluster.metrics()['intact_webhook_refused_total{reason="path"}']
    assert refused >= FORGED

    after = await ns.status()
    assert msgspec.to_builtins(after) == msgspec.to_builtins(before)
    assert [(await ns.evict(name)).code for name in ("a", "b")] == [201, 429]

    async def idle_again() -> float:
        return intact_cluster.metrics()["intact_webhook_connections"]

    await eventually(idle_again, lambda number: number < 100, "the connections to end")


def mebibytes(limit: str) -> float:
    return float(limit[:-2]) * {"Mi": 1, "Gi": 1024}[limit[-2:]]
