"""Kubeconfigs for tests, made from the cluster's own."""

from pathlib import Path
from typing import Any

import msgspec

from devcluster.cluster import Cluster


def write_kubeconfig(
    cluster: Cluster | Path,
    path: Path,
    *,
    namespace: str = "default",
    server: str = "",
    user: dict[str, Any] | None = None,
) -> Path:
    """The cluster's kubeconfig, or this one, with another namespace, server or user."""
    source = cluster.kubeconfig if isinstance(cluster, Cluster) else cluster
    content = msgspec.yaml.decode(source.read_bytes())
    for context in content["contexts"]:
        context["context"]["namespace"] = namespace
    if server:
        content["clusters"][0]["cluster"]["server"] = server
    if user is not None:
        content["users"][0]["user"] = user
    path.write_bytes(msgspec.yaml.encode(content))
    return path
