"""The nodes that kwok manages."""

from __future__ import annotations

from typing import Any

from devcluster.api import Api
from devcluster.components import MANAGED_NODE

LABEL = ("type", "kwok")
_NOT_READY = "node.kubernetes.io/not-ready"


def create_nodes(api: Api, count: int) -> None:
    for index in range(count):
        name = f"node-{index}"
        labels = {
            LABEL[0]: LABEL[1],
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        key, value = MANAGED_NODE
        metadata = {"name": name, "labels": labels, "annotations": {key: value}}
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def list_nodes(api: Api) -> list[dict[str, Any]]:
    found = api.get(f"/api/v1/nodes?labelSelector={LABEL[0]}%3D{LABEL[1]}")
    items: list[dict[str, Any]] = found["items"]
    return items


def is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def is_untainted(node: dict[str, Any]) -> bool:
    """The API server creates every node with this taint; the controller manager removes it."""
    return all(taint["key"] != _NOT_READY for taint in node["spec"].get("taints", []))
