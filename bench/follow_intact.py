"""Follows all pods with Intact's reflector and store, and reports each phase."""

import asyncio
import sys
from pathlib import Path

from bench.child import end_with_parent, say
from bench.pods import LAST
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS
from intact.kube.store import Store
from intact.model.pod import Pod


def _node(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def _owner(pod: Pod) -> tuple[str, ...]:
    return tuple(owner.uid for owner in pod.metadata.owner_references if owner.controller)


class _Follower:
    def __init__(self) -> None:
        self.events = 0
        self.last = asyncio.Event()

    def see(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None:
            self.events += 1
            if LAST in new.metadata.labels:
                self.last.set()


async def main() -> None:
    end_with_parent()
    follower = _Follower()
    store = Store({"node": _node, "owner": _owner})
    store.subscribe(follower.see)
    async with Client(HttpTransport(from_kubeconfig([Path(sys.argv[1])]))) as client:
        say("ready")
        reflector = Reflector(client, PODS, store)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(reflector.run())
            await reflector.wait_synced()
            say("listed")
            await follower.last.wait()
            say("stormed", events=follower.events)
            running.cancel()
    indexed = [
        sum(store.count(index, value) for value in store.index_values(index))
        for index in ("node", "owner")
    ]
    versions = {
        f"{pod.metadata.namespace}/{pod.metadata.name}": pod.metadata.resource_version
        for pod in store
    }
    say("state", versions=versions, indexed=indexed)


if __name__ == "__main__":
    asyncio.run(main())
