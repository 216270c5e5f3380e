"""Follows all pods with the official Python client's informer, and reports each phase."""

import sys
import threading
from typing import Any

# Installed only where the benchmarks run, and without types.
from kubernetes import client, config, informer  # type: ignore[import-not-found,unused-ignore]

from bench.child import end_with_parent, say
from bench.pods import LAST


class _Follower:
    def __init__(self, pods: int) -> None:
        self.events = 0
        self.listed = threading.Event()
        self.last = threading.Event()
        self._pods = pods
        self._added = 0

    def add(self, _: Any) -> None:
        self._added += 1
        if self._added == self._pods:
            self.listed.set()

    def see(self, pod: Any) -> None:
        self.events += 1
        if LAST in pod.metadata.labels:
            self.last.set()


def main() -> None:
    end_with_parent()
    follower = _Follower(pods=int(sys.argv[2]))
    config.load_kube_config(sys.argv[1])
    shared = informer.SharedInformer(client.CoreV1Api().list_pod_for_all_namespaces)
    shared.add_event_handler(informer.ADDED, follower.add)
    shared.add_event_handler(informer.MODIFIED, follower.see)
    say("ready")
    shared.start()
    follower.listed.wait()
    say("listed")
    follower.last.wait()
    say("stormed", events=follower.events)
    versions = {
        f"{pod.metadata.namespace}/{pod.metadata.name}": pod.metadata.resource_version
        for pod in shared.cache.list()
    }
    say("state", versions=versions)


if __name__ == "__main__":
    main()
