"""Failures on demand."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from intact.kube.client import Client
from intact.sandbox import run
from intact.sandbox.api.pod_state import is_true
from intact.sandbox.cluster import Sandbox
from tests.support.objects import PODS
from tests.support.scheduling import a_pod

NS = "default"
Json = dict[str, Any]


def with_a_pod(act: Callable[[Sandbox, Client], Coroutine[Any, Any, None]], **spec: Any) -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            await sandbox.add_node("x")
            await sandbox.client().create(PODS, a_pod("p", namespace=NS, **spec), NS)
            await asyncio.sleep(1)
            await act(sandbox, sandbox.client())

    run(main(), seed=1)


async def soon(client: Client) -> Json:
    await asyncio.sleep(1)
    return await client.get(PODS, "p", NS)


def test_a_pod_is_held_and_released() -> None:
    async def act(sandbox: Sandbox, client: Client) -> None:
        sandbox.troubles.hold(NS, "p")
        assert not is_true(await soon(client), "Ready")
        sandbox.troubles.release(NS, "p")
        assert is_true(await soon(client), "Ready")

    with_a_pod(act)


def test_a_pod_crashes_once_and_is_ready_again() -> None:
    async def act(sandbox: Sandbox, client: Client) -> None:
        sandbox.troubles.crash(NS, "p")
        pod = await soon(client)
        assert is_true(pod, "Ready")
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 1

    with_a_pod(act)


def test_a_pod_fails() -> None:
    async def act(sandbox: Sandbox, client: Client) -> None:
        sandbox.troubles.fail(NS, "p")
        assert (await soon(client))["status"]["phase"] == "Failed"

    with_a_pod(act)


def test_only_a_pod_with_a_node_has_troubles() -> None:
    async def act(sandbox: Sandbox, _client: Client) -> None:
        with pytest.raises(LookupError, match="no pod default/q has a node"):
            sandbox.troubles.fail(NS, "q")

    with_a_pod(act)
