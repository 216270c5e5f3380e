"""The pods among which kube-scheduler spreads a pod that has no constraints of its own: those of
the same owner, and of the same Services."""

from collections.abc import Callable

from intact.sandbox.api.objects import Json, encode
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.scheduler.pods import Chosen, PodInfo

_OWNERS = {
    ("apps/v1", "ReplicaSet"): "replicasets.apps",
    ("apps/v1", "StatefulSet"): "statefulsets.apps",
    ("v1", "ReplicationController"): "replicationcontrollers",
}


class Siblings:
    def __init__(self, api: MemoryApi) -> None:
        self._api = api
        self._services: dict[str, dict[str, Json]] = {}
        """Selectors by namespace and name."""
        self.end: Callable[[], None] = api.follow("services", self._changed)

    def of(self, pod: PodInfo) -> Chosen | None:
        """None if the pod has no siblings."""
        labels: dict[str, str] = {}
        for selector in self._services.get(pod.namespace, {}).values():
            if all(pod.labels.get(key) == value for key, value in selector.items()):
                labels |= selector
        expressions: list[Json] = []
        owner = pod.owner
        known = _OWNERS.get((owner["apiVersion"], owner["kind"])) if owner is not None else None
        found = self._api.peek(known, pod.namespace, owner["name"]) if known and owner else None
        if found is not None and known is not None:
            selector = found["spec"].get("selector") or {}
            if known == "replicationcontrollers":
                labels |= selector
            else:
                expressions += [
                    {"key": key, "operator": "In", "values": [value]}
                    for key, value in (selector.get("matchLabels") or {}).items()
                ]
                expressions += selector.get("matchExpressions") or ()
        if not labels and not expressions:
            return None
        return Chosen(encode({"matchLabels": labels, "matchExpressions": expressions}))

    def _changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        services = self._services.setdefault(obj["metadata"]["namespace"], {})
        services.pop(obj["metadata"]["name"], None)
        selector = (new or {}).get("spec", {}).get("selector")
        if selector:
            services[obj["metadata"]["name"]] = selector
