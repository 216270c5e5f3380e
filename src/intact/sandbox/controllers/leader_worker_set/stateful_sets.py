"""The StatefulSets that a LeaderWorkerSet is made of."""

from intact.sandbox.api.objects import Json, copied
from intact.sandbox.controllers.leader_worker_set.kind import (
    EXCLUSIVE,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    NAME,
    REPLICAS,
    REVISION,
    SIZE,
    WORKER_INDEX,
    wanted,
)
from intact.sandbox.controllers.leader_worker_set.rolling import Leaders
from intact.sandbox.controllers.pods import owner_reference


def of_leaders(each: Json, revision: str, leaders: Leaders) -> Json:
    """Of a set: one pod a group."""
    name = each["metadata"]["name"]
    template = each["spec"]["leaderWorkerTemplate"]
    selector = {NAME: name, WORKER_INDEX: "0"}
    rolling = (each["spec"].get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
    strategy = {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxUnavailable": rolling.get("maxUnavailable", 1),
            "partition": leaders.partition,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": each["metadata"]["namespace"],
            "labels": {NAME: name, REVISION: revision},
            "annotations": {REPLICAS: str(wanted(each).replicas)},
            "ownerReferences": [owner_reference(each)],
        },
        "spec": {
            "serviceName": name,
            "replicas": leaders.replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector},
            "updateStrategy": strategy,
            "template": _with(
                template.get("leaderTemplate") or template["workerTemplate"],
                {**selector, REVISION: revision},
                {SIZE: str(template.get("size", 1)), **_exclusive(each)},
            ),
        },
    }


def of_workers(each: Json, leader: Json) -> Json:
    """Of a group, whose leader owns them. `each` is the set as it was when the leader was made."""
    meta = leader["metadata"]
    template = each["spec"]["leaderWorkerTemplate"]
    selector = {
        NAME: each["metadata"]["name"],
        GROUP_INDEX: meta["labels"][GROUP_INDEX],
        GROUP_KEY: meta["labels"][GROUP_KEY],
    }
    labels = {**selector, REVISION: meta["labels"][REVISION]}
    annotations = {SIZE: str(template["size"]), LEADER_NAME: meta["name"], **_exclusive(each)}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(leader)],
        },
        "spec": {
            "serviceName": _service(each, meta["name"]),
            "replicas": template["size"] - 1,
            "ordinals": {"start": 1},
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector},
            "template": _with(template["workerTemplate"], labels, annotations),
        },
    }


def _exclusive(each: Json) -> Json:
    """The topology in whose domains each group is alone."""
    key = (each["metadata"].get("annotations") or {}).get(EXCLUSIVE)
    return {EXCLUSIVE: key} if key else {}


def _service(each: Json, leader: str) -> str:
    policy = (each["spec"].get("networkConfig") or {}).get("subdomainPolicy", "Shared")
    return leader if policy == "UniquePerReplica" else str(each["metadata"]["name"])


def _with(template: Json, labels: Json, annotations: Json) -> Json:
    found = copied(template)
    meta = found.setdefault("metadata", {})
    meta["labels"] = {**(meta.get("labels") or {}), **labels}
    meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
    return found
