"""The kinds of the server that has KEP-5682."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Invalid
from intact.kube.resources import untyped
from intact.sandbox import MemoryApi
from tests.support.objects import PDBS, Json
from tests.unit.kube.simulated import simulated

NS = "default"
BUDGET: Json = {"metadata": {"name": "b"}, "spec": {"budgetScope": "PodGroup"}}
GANG = {"gang": {"minCount": 1}}


@simulated
async def test_a_new_budget_shows_all_counters() -> None:
    async with Client(MemoryApi(budget_scope=True)) as client:
        made = await client.create(PDBS, BUDGET, NS)
        assert made["spec"]["budgetScope"] == "PodGroup"
        assert made["status"] == {
            "disruptionsAllowed": 0,
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
            "disruptionsAllowedReplicas": 0,
            "currentHealthyReplicas": 0,
            "desiredHealthyReplicas": 0,
            "expectedReplicas": 0,
        }


SHAPES = {
    "of the KEP": ("v1alpha1", {"podGroups": [{"name": "w", "replicas": 2, "policy": GANG}]}, ""),
    "of 1.36": ("v1alpha2", {"podGroupTemplates": [{"name": "w", "schedulingPolicy": GANG}]}, ""),
    "without a policy": (
        "v1alpha1",
        {"podGroups": [{"name": "w"}]},
        'spec.podGroups[0].policy: Invalid value: "": must specify one of: `basic`, `gang`',
    ),
    "of nothing": ("v1alpha2", {}, "spec.podGroupTemplates: Required value"),
}


@pytest.mark.parametrize(("version", "spec", "refused"), SHAPES.values(), ids=SHAPES)
@simulated
async def test_a_workload_has_either_shape(version: str, spec: Json, refused: str) -> None:
    resource = untyped("scheduling.k8s.io", version, "workloads", "Workload")
    async with Client(MemoryApi(budget_scope=True)) as client:
        body = {"metadata": {"name": "w"}, "spec": spec}
        if not refused:
            made = await client.create(resource, body, NS)
            assert made["spec"] == spec
            return
        with pytest.raises(Invalid) as error:
            await client.create(resource, body, NS)
        assert refused in str(error.value)
