"""The budget over all shards, of which at most one may be down: as a PodUnavailableBudget, and as a
native PodDisruptionBudget with one label."""

from typing import Any

from intact.budget.pdb.group_settings import GROUP_LABEL_KEY, MIN_READY_REPLICAS
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.resources import PDBS, PUBS
from intact.sandbox.scene.shards import GROUP_KEY, LABELS, PODS_EACH

NAME = "llm"
Json = dict[str, Any]

PUB: Json = {
    "apiVersion": PUBS.api_version,
    "kind": PUBS.kind,
    "metadata": {"name": NAME},
    "spec": {
        "selector": {"matchLabels": LABELS},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": GROUP_KEY, "minReadyReplicas": PODS_EACH},
    },
}
PDB: Json = {
    "apiVersion": PDBS.api_version,
    "kind": PDBS.kind,
    "metadata": {
        "name": NAME,
        "labels": {SCOPE_LABEL: "Workload"},
        "annotations": {GROUP_LABEL_KEY: GROUP_KEY, MIN_READY_REPLICAS: str(PODS_EACH)},
    },
    "spec": {"selector": {"matchLabels": LABELS}, "maxUnavailable": 1},
}
