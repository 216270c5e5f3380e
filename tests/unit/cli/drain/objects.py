"""Pods and budgets for tests of drains, as views, and pictures of them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from intact.cli.drain.units import DrainUnit, drain_units
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod
from intact.model.pub import PodUnavailableBudget
from intact.picture.objects import Objects
from intact.picture.picture import Picture, draw

SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s", "controller": True}
DAEMON = {**SET, "kind": "DaemonSet", "name": "d"}
LWS = "leaderworkerset.sigs.k8s.io"


def pod(
    name: str,
    group: str = "",
    *,
    node: str = "n",
    ready: bool = True,
    owner: dict[str, Any] | None = SET,
    phase: str = "Running",
    volumes: Sequence[dict[str, Any]] = (),
    **metadata: Any,
) -> DetailedPod:
    labels = {"app": "llm", **({"shard": group} if group else {}), **metadata.pop("labels", {})}
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "labels": labels,
        "ownerReferences": [owner] if owner else [],
        **metadata,
    }
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return msgspec.convert(
        {
            "metadata": meta,
            "spec": {"nodeName": node, "volumes": list(volumes)},
            "status": {"phase": phase, "conditions": conditions},
        },
        DetailedPod,
    )


def pdb(
    name: str = "llm",
    allowed: int = 0,
    *,
    current: int = 1,
    desired: int = 1,
    total: int = 2,
    version: str = "1",
) -> PodDisruptionBudget:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "generation": 1,
                "resourceVersion": version,
            },
            "spec": {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1},
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed,
                "currentHealthy": current,
                "desiredHealthy": desired,
                "expectedPods": total,
            },
        },
        PodDisruptionBudget,
    )


def pub(
    name: str = "llm",
    allowed: int = 0,
    *,
    need: int = 2,
    current: int = 1,
    desired: int = 1,
    total: int = 2,
    enforcement: str = "",
) -> PodUnavailableBudget:
    """Counts groups by the label `shard`."""
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "generation": 1,
                "resourceVersion": "1",
                "annotations": {"intact.dev/enforcement": enforcement} if enforcement else {},
            },
            "spec": {
                "selector": {"matchLabels": {"app": "llm"}},
                "maxUnavailable": 1,
                "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": need},
            },
            "status": {
                "observedGeneration": 1,
                "unavailableAllowed": allowed,
                "currentAvailable": current,
                "desiredAvailable": desired,
                "totalReplicas": total,
                "ledger": '{"reached": true}',
            },
        },
        PodUnavailableBudget,
    )


def picture(
    pods: Sequence[DetailedPod],
    *budgets: PodDisruptionBudget | PodUnavailableBudget,
    intact: bool | None = True,
) -> Picture:
    return draw(
        Objects(
            pods=pods,
            pdbs=[one for one in budgets if isinstance(one, PodDisruptionBudget)],
            pubs=[one for one in budgets if isinstance(one, PodUnavailableBudget)],
            intact=intact,
        )
    )


def units(
    pods: Sequence[DetailedPod],
    *budgets: PodDisruptionBudget | PodUnavailableBudget,
    intact: bool | None = True,
    node: str = "n",
) -> dict[str, DrainUnit]:
    """Of a drain of one node, by name."""
    found = picture(pods, *budgets, intact=intact)
    going = [one for one in pods if one.spec.node_name == node]
    return {unit.name: unit for unit in drain_units(found, going)}
