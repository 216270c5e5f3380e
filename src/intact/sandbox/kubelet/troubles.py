"""Failures on demand: one switch for each thing that goes wrong in a cluster."""

from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.kubelet.kubelets import Kubelets


class Troubles:
    """A trouble of a pod is that pod's: one that comes later under its name does not have it."""

    def __init__(self, api: MemoryApi, kubelets: Kubelets) -> None:
        self._api = api
        self._kubelets = kubelets

    def hold(self, namespace: str, name: str) -> None:
        """The pod is not ready, until it is released."""
        pod = self._pod(namespace, name)
        self._kubelets.life_of(pod).is_held = True
        self._kubelets.look_at(pod)

    def release(self, namespace: str, name: str) -> None:
        pod = self._pod(namespace, name)
        self._kubelets.life_of(pod).is_held = False
        self._kubelets.look_at(pod)

    def crash(self, namespace: str, name: str) -> None:
        """All containers end with an error, and start again if the pod's restartPolicy allows."""
        pod = self._pod(namespace, name)
        self._kubelets.life_of(pod).must_crash = True
        self._kubelets.look_at(pod)

    def fail(self, namespace: str, name: str) -> None:
        """The pod ends as Failed."""
        pod = self._pod(namespace, name)
        self._kubelets.life_of(pod).must_fail = True
        self._kubelets.look_at(pod)

    def lose_node(self, node: str) -> None:
        """The kubelet stops. The cluster notices after a while, and evicts what runs there."""
        self._kubelets.stop(node)

    def recover_node(self, node: str) -> None:
        self._kubelets.start(node)

    def _pod(self, namespace: str, name: str) -> Json:
        found = self._api.peek("pods", namespace, name)
        if found is None or not found["spec"].get("nodeName"):
            raise LookupError(f"no pod {namespace}/{name} has a node")
        return found
