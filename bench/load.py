"""Fills an API server with pods, changes them, or lists them: `create`, `storm` or `list`."""

import argparse
import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from bench.child import end_with_parent, say
from bench.pods import LAST, NAMESPACES, place, pod, readiness, status
from bench.pub_setup import all_of
from intact.kube.client import Client, PatchType
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.kube.resources import PODS, untyped

_PAGE = 500
_NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
_ACCOUNTS = untyped("", "v1", "serviceaccounts", "ServiceAccount")


async def create(client: Client, pods: int) -> None:
    for number in range(NAMESPACES):
        name = f"team-{number}"
        await client.create(_NAMESPACES, {"metadata": {"name": name}})
        # The controller manager would make it; without it the API server admits no pod.
        await client.create(_ACCOUNTS, {"metadata": {"name": "default"}}, name)

    async def one(number: int) -> None:
        namespace, name = place(number)
        await client.create(PODS, pod(number), namespace, field_manager="kube-controller-manager")
        await client.patch(
            PODS,
            {"status": status(number)},
            name,
            namespace,
            subresource="status",
            field_manager="kubelet",
        )

    await all_of(range(pods), one)
    say("created")


async def storm(client: Client, pods: int, updates: int) -> None:
    """The last update is sent once all others have been answered. A watch delivers in the order of
    the writes: a follower that has seen the last update has seen all."""

    async def one(number: int) -> None:
        turn, target = divmod(number, pods)
        namespace, name = place(target)
        await client.patch(
            PODS,
            {"status": readiness(turn)},
            name,
            namespace,
            type=PatchType.STRATEGIC,
            subresource="status",
            field_manager="kubelet",
        )

    await all_of(range(updates - 1), one)
    namespace, name = place(0)
    await client.patch(PODS, {"metadata": {"labels": {LAST: "true"}}}, name, namespace)
    say("stormed")


async def show(client: Client) -> None:
    """Every pod that the server has, read without Intact's model."""
    versions = {}
    size = 0
    query = {"limit": str(_PAGE)}
    while True:
        body = await client.raw(PODS.path(), query)
        page = msgspec.json.decode(body)
        size += len(body)
        for item in page["items"]:
            meta = item["metadata"]
            versions[f"{meta['namespace']}/{meta['name']}"] = meta["resourceVersion"]
        token = page["metadata"].get("continue")
        if not token:
            break
        query["continue"] = token
    say("state", versions=versions, bytes=size)


@asynccontextmanager
async def _connected(kubeconfig: Path) -> AsyncGenerator[Client, None]:
    async with Client(HttpTransport(from_kubeconfig([kubeconfig]))) as client:
        yield client


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["create", "storm", "list"])
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--pods", type=int, default=0)
    parser.add_argument("--updates", type=int, default=0)
    arguments = parser.parse_args()
    end_with_parent()
    async with _connected(arguments.kubeconfig) as client:
        if arguments.what == "create":
            await create(client, arguments.pods)
        elif arguments.what == "storm":
            await storm(client, arguments.pods, arguments.updates)
        else:
            await show(client)


if __name__ == "__main__":
    asyncio.run(main())
