"""Objects of pictures: pods and budgets as a cluster has them, in a few words."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from intact.budget.pdb.annotations import annotations_of
from intact.budget.pdb.group_settings import GROUP_LABEL_KEY, MIN_READY_REPLICAS, rules_of
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Node
from intact.model.pod import DetailedPod
from intact.model.pub import Ledger, PodUnavailableBudget
from intact.model.times import timestamp
from intact.picture.objects import Objects
from intact.picture.picture import Picture, draw

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMESPACE = "llm"
KEY = "shard"
Json = dict[str, Any]


def ago(**time: float) -> str:
    return timestamp(NOW - timedelta(**time))


def pod(
    name: str,
    *,
    ready: bool = True,
    phase: str = "",
    since: str = "",
    group: str | None = None,
    labels: Mapping[str, str] | None = None,
    node: str = "node-0",
    owner: tuple[str, str] | None = ("StatefulSet", "web"),
    deleted: str = "",
    grace: int = 30,
    conditions: list[Json] | None = None,
    **parts: Any,
) -> DetailedPod:
    """`deleted` is when its deletion was asked for; `parts` are merged into the object."""
    meta: Json = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": ago(hours=1),
        "labels": {"app": "llm", **({KEY: group} if group is not None else {}), **(labels or {})},
    }
    if owner is not None:
        kind, its = owner
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": its, "uid": f"uid-{its}"}
        meta["ownerReferences"] = [{**reference, "controller": True}]
    if deleted:
        end = datetime.fromisoformat(deleted) + timedelta(seconds=grace)
        meta |= {"deletionTimestamp": timestamp(end), "deletionGracePeriodSeconds": grace}
    state = {"type": "Ready", "status": "True" if ready else "False"}
    status: Json = {
        "phase": phase or ("Running" if node else "Pending"),
        "conditions": conditions or [{**state, "lastTransitionTime": since or ago(hours=1)}],
    }
    whole: Json = {"metadata": meta, "spec": {"nodeName": node}, "status": status}
    for part, more in parts.items():
        whole[part] = {**whole[part], **more}
    return msgspec.convert(whole, DetailedPod)


def group(name: str, *, size: int = 2, **each: Any) -> list[DetailedPod]:
    """All pods of one group."""
    return [pod(f"{name}-{number}", group=name, **each) for number in range(size)]


def unschedulable(name: str, since: str, **more: Any) -> DetailedPod:
    said = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes have 8 nvidia.com/gpu",
        "lastTransitionTime": since,
    }
    return pod(name, ready=False, node="", conditions=[said], **more)


def pub(
    name: str = "llm",
    *,
    allowed: int = 0,
    current: int = 3,
    desired: int = 3,
    total: int = 4,
    need: int | None = 2,
    ledger: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    working: tuple[str, str, str] = ("True", "Gated", ""),
    **spec: Any,
) -> PodUnavailableBudget:
    """In groups, unless `need` is None."""
    whole: Json = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1}
    if need is not None:
        whole["podGroupPolicy"] = {"groupLabelKey": KEY, "minReadyReplicas": need}
    kept = Ledger(reached=need is not None)
    status, reason, message = working
    condition = {"type": "Working", "status": status, "reason": reason, "message": message}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": ago(days=1),
                "annotations": dict(annotations or {}),
            },
            "spec": whole | spec,
            "status": {
                "observedGeneration": 1,
                "unavailableAllowed": allowed,
                "currentAvailable": current,
                "desiredAvailable": desired,
                "totalReplicas": total,
                "ledger": msgspec.json.encode(
                    msgspec.structs.replace(kept, **(ledger or {}))
                ).decode(),
                "conditions": [{**condition, "lastTransitionTime": ago(hours=2)}],
            },
        },
        PodUnavailableBudget,
    )


def pdb(
    name: str = "llm-pods",
    *,
    allowed: int = 0,
    current: int = 3,
    desired: int = 3,
    expected: int = 4,
    observed: int = 1,
    conditions: list[Json] | None = None,
    disrupted: Mapping[str, str] | None = None,
    **meta: Any,
) -> PodDisruptionBudget:
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": ago(days=1),
                **meta,
            },
            "spec": spec,
            "status": {
                "observedGeneration": observed,
                "disruptionsAllowed": allowed,
                "currentHealthy": current,
                "desiredHealthy": desired,
                "expectedPods": expected,
                "conditions": conditions or [],
                "disruptedPods": dict(disrupted or {}),
            },
        },
        PodDisruptionBudget,
    )


def with_spec(budget: PodDisruptionBudget, **spec: Any) -> PodDisruptionBudget:
    return msgspec.structs.replace(budget, spec=msgspec.structs.replace(budget.spec, **spec))


def group_pdb(
    name: str = "llm-groups",
    *,
    need: int = 2,
    ledger: Mapping[str, Any] | None = None,
    scope: str = "Workload",
    key: str | None = KEY,
    settings: Mapping[str, str] | None = None,
    **status: Any,
) -> PodDisruptionBudget:
    """A PodDisruptionBudget that counts groups, as Intact has counted it: by the label `key`, or as
    its pods say themselves."""
    by_label = {GROUP_LABEL_KEY: key, MIN_READY_REPLICAS: str(need)} if key else {}
    given = by_label | dict(settings or {})
    found = pdb(name, labels={SCOPE_LABEL: scope}, annotations=given, **status)
    kept = GroupLedger(
        proven=[need], needs={need: 3}, available=3, desired=3, expected=4, rules=rules_of(found)
    )
    kept = msgspec.structs.replace(kept, **(ledger or {}))
    meta = found.metadata
    written = msgspec.structs.replace(meta, annotations=meta.annotations | annotations_of(kept))
    return msgspec.structs.replace(found, metadata=written)


def node(name: str = "node-0", *, ready: bool = True, cordoned: bool = False) -> Node:
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}]}
    spec = {"unschedulable": cordoned}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec, "status": status}, Node)


def picture(*pods: DetailedPod, intact: bool | None = True, **objects: Any) -> Picture:
    return draw(Objects(pods=pods, intact=intact, **objects))
