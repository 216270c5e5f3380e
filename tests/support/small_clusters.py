"""Clusters to rehearse on: objects as a cluster has them after a while, with UIDs and statuses."""

from datetime import UTC, datetime, timedelta
from typing import Any

from intact.model.times import timestamp
from intact.sandbox.snapshot.document import KindInfo, Snapshot

Json = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEGUN = NOW - timedelta(days=1)
LWS = "leaderworkerset.sigs.k8s.io"
SCOPE = "intact.dev/budget-scope"
POD_GROUPS = KindInfo("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
PUBS = KindInfo("policy.kruise.io", "v1alpha1", "podunavailablebudgets", "PodUnavailableBudget")
KINDS = {
    "Namespace": KindInfo("", "v1", "namespaces", "Namespace", namespaced=False),
    "Node": KindInfo("", "v1", "nodes", "Node", namespaced=False),
    "PriorityClass": KindInfo(
        "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
    ),
    "Deployment": KindInfo("apps", "v1", "deployments", "Deployment", scaled=True),
    "ReplicaSet": KindInfo("apps", "v1", "replicasets", "ReplicaSet", scaled=True),
    "StatefulSet": KindInfo("apps", "v1", "statefulsets", "StatefulSet", scaled=True),
    "DaemonSet": KindInfo("apps", "v1", "daemonsets", "DaemonSet"),
    "ControllerRevision": KindInfo("apps", "v1", "controllerrevisions", "ControllerRevision"),
    "PodGroup": POD_GROUPS,
    "PodDisruptionBudget": KindInfo("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    "PodUnavailableBudget": PUBS,
    "Pod": KindInfo("", "v1", "pods", "Pod"),
}


class SmallCluster:
    """Collects objects; `snapshot` makes one of them."""

    def __init__(self, nodes: int = 3, *, intact: bool = True, cpu: str = "8") -> None:
        self.objects: dict[str, list[Json]] = {kind.full_name: [] for kind in KINDS.values()}
        self.intact = intact
        self._uids = 0
        for name in ("default", "kube-system"):
            self.put("Namespace", name, namespace="")
        for number in range(nodes):
            self.node(f"node-{number}", cpu)

    def snapshot(self) -> Snapshot:
        return Snapshot(
            time=NOW,
            server_version="v1.36.3",
            intact=self.intact,
            kinds=list(KINDS.values()),
            objects=self.objects,
        )

    def put(self, kind: str, name: str, namespace: str = "default", **body: Any) -> Json:
        self._uids += 1
        info = KINDS[kind]
        meta: Json = {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{self._uids:012d}",
            "generation": 1,
            "creationTimestamp": timestamp(BEGUN),
        }
        if info.namespaced:
            meta["namespace"] = namespace
        meta |= body.pop("metadata", {})
        obj = {"apiVersion": info.api_version, "kind": kind, "metadata": meta, **body}
        self.objects[info.full_name].append(obj)
        return obj

    def node(self, name: str, cpu: str = "8") -> Json:
        room = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": timestamp(BEGUN)}
        return self.put(
            "Node",
            name,
            metadata={"labels": {"kubernetes.io/hostname": name}},
            spec={},
            status={"allocatable": room, "capacity": room, "conditions": [ready]},
        )

    def pod(
        self,
        name: str,
        node: str,
        owner: Json | None = None,
        *,
        labels: dict[str, str] | None = None,
        took: float = 5.0,
        ready: bool = True,
        spec: Json | None = None,
        metadata: Json | None = None,
    ) -> Json:
        meta: Json = {"labels": labels or {}, **(metadata or {})}
        if owner is not None:
            meta["ownerReferences"] = [reference(owner)]
        status = "True" if ready else "False"
        since = timestamp(BEGUN + timedelta(seconds=took))
        conditions = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": timestamp(BEGUN)},
            {"type": "Ready", "status": status, "lastTransitionTime": since},
            {"type": "ContainersReady", "status": status, "lastTransitionTime": since},
        ]
        container = {"name": "main", "image": "registry.example/main:1", "resources": {}}
        base: Json = {
            "nodeName": node,
            "containers": [container],
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
        }
        shown = {
            "name": "main",
            "image": "registry.example/main:1",
            "ready": ready,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": timestamp(BEGUN)}},
        }
        return self.put(
            "Pod",
            name,
            metadata=meta,
            spec=base | (spec or {}),
            status={
                "phase": "Running",
                "startTime": timestamp(BEGUN),
                "conditions": conditions,
                "containerStatuses": [shown],
            },
        )

    def deployment(self, name: str, nodes: list[str], *, took: float = 5.0, **spec: Any) -> Json:
        """With a pod on each of these nodes."""
        labels = {"app": name}
        template = template_of(labels, spec)
        found = self.put(
            "Deployment",
            name,
            metadata={"annotations": {"deployment.kubernetes.io/revision": "1"}},
            spec={
                "replicas": len(nodes),
                "selector": {"matchLabels": labels},
                "template": template,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
                "progressDeadlineSeconds": 600,
                "revisionHistoryLimit": 10,
            },
            status=_counts(len(nodes)) | {"updatedReplicas": len(nodes), "observedGeneration": 1},
        )
        hashed = labels | {"pod-template-hash": "5d4f8c7d9"}
        replica_set = self.put(
            "ReplicaSet",
            f"{name}-5d4f8c7d9",
            metadata={
                "labels": hashed,
                "ownerReferences": [reference(found)],
                "annotations": {"deployment.kubernetes.io/revision": "1"},
            },
            spec={
                "replicas": len(nodes),
                "selector": {"matchLabels": hashed},
                "template": template_of(hashed, spec),
            },
            status=_counts(len(nodes))
            | {"observedGeneration": 1, "fullyLabeledReplicas": len(nodes)},
        )
        for number, node in enumerate(nodes):
            self.pod(
                f"{name}-5d4f8c7d9-pod{number}",
                node,
                replica_set,
                labels=hashed,
                took=took,
                spec=template["spec"],
            )
        return found

    def pod_group(
        self,
        name: str,
        nodes: list[str],
        need: int = 0,
        workload: str = "llm",
        *,
        took: float = 5.0,
    ) -> None:
        """A PodGroup, whose pods a StatefulSet of the same name brings back."""
        policy = {"gang": {"minCount": need or len(nodes)}}
        source = {"workload": {"workloadName": workload, "podGroupTemplateName": "worker"}}
        self.put("PodGroup", name, spec={"schedulingPolicy": policy, "podGroupTemplateRef": source})
        group = {"schedulingGroup": {"podGroupName": name}}
        self.stateful_set(name, nodes, {"app": workload}, took=took, spec=group)

    def stateful_set(
        self,
        name: str,
        nodes: list[str],
        labels: dict[str, str],
        *,
        took: float = 5.0,
        spec: Json | None = None,
        annotations: dict[str, str] | None = None,
    ) -> Json:
        labels = labels | {"set": name}
        template = template_of(labels, spec or {})
        if annotations:
            template["metadata"]["annotations"] = annotations
        revision = f"{name}-6c9f4b7d5"
        found = self.put(
            "StatefulSet",
            name,
            spec={
                "replicas": len(nodes),
                "serviceName": name,
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"set": name}},
                "template": template,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "revisionHistoryLimit": 10,
            },
            status=_counts(len(nodes))
            | {
                "currentReplicas": len(nodes),
                "updatedReplicas": len(nodes),
                "currentRevision": revision,
                "updateRevision": revision,
                "observedGeneration": 1,
            },
        )
        self.put(
            "ControllerRevision",
            revision,
            metadata={"labels": labels, "ownerReferences": [reference(found)]},
            data={"spec": {"template": {**template, "$patch": "replace"}}},
            revision=1,
        )
        for number, node in enumerate(nodes):
            own = {
                "controller-revision-hash": revision,
                "statefulset.kubernetes.io/pod-name": f"{name}-{number}",
                "apps.kubernetes.io/pod-index": str(number),
            }
            self.pod(
                f"{name}-{number}",
                node,
                found,
                labels=labels | own,
                took=took,
                spec=template["spec"],
                metadata={"annotations": annotations} if annotations else None,
            )
        return found

    def pdb(
        self, name: str, labels: dict[str, str], *, scope: str = "", total: int = 0, **spec: Any
    ) -> Json:
        return self.put(
            "PodDisruptionBudget",
            name,
            metadata={"labels": {SCOPE: scope} if scope else {}},
            spec={"selector": {"matchLabels": labels}, **spec},
            status={
                "observedGeneration": 0,
                "disruptionsAllowed": 0,
                "currentHealthy": 0,
                "desiredHealthy": 0,
                "expectedPods": total,
            },
        )

    def pub(self, name: str, labels: dict[str, str], group_key: str = "", need: int = 0,
            **spec: Any) -> Json:  # fmt: skip
        if group_key:
            spec["podGroupPolicy"] = {"groupLabelKey": group_key, "minReadyReplicas": need}
        return self.put(
            "PodUnavailableBudget", name, spec={"selector": {"matchLabels": labels}, **spec}
        )


def reference(owner: Json) -> Json:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def template_of(labels: dict[str, str], spec: Json) -> Json:
    container = {"name": "main", "image": "registry.example/main:1", "resources": {}}
    base = {
        "containers": [container],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    return {"metadata": {"labels": labels}, "spec": base | spec}


def asking(cpu: str) -> list[Json]:
    """Containers that request so much."""
    resources = {"requests": {"cpu": cpu}}
    return [{"name": "main", "image": "registry.example/main:1", "resources": resources}]


def _counts(number: int) -> Json:
    return {"replicas": number, "readyReplicas": number, "availableReplicas": number}
