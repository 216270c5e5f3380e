"""What the API server answers to an eviction under PodDisruptionBudgets, told beforehand."""

from typing import Any

import pytest

from intact.budget.native_eviction import refusal
from intact.model.pdb import PdbMeta, PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod, PodCondition, PodMeta, PodStatus


def pod(phase: str = "Running", *, ready: bool = True, terminating: bool = False) -> Pod:
    condition = PodCondition(type="Ready", status="True" if ready else "False")
    deleted = "2026-01-01T00:00:00Z" if terminating else None
    return Pod(
        metadata=PodMeta(name="p", namespace="ns", deletion_timestamp=deleted),
        status=PodStatus(phase=phase, conditions=[condition]),
    )


def pdb(
    name: str = "b", policy: str | None = None, scope: str | None = None, **status: Any
) -> PodDisruptionBudget:
    known: dict[str, Any] = {"observed_generation": 1, "current_healthy": 2, "desired_healthy": 2}
    return PodDisruptionBudget(
        metadata=PdbMeta(name=name, generation=1),
        spec=PdbSpec(unhealthy_pod_eviction_policy=policy, budget_scope=scope),
        status=PdbStatus(**known | status),
    )


FULL = pdb(disruptions_allowed=0)
REFUSED: dict[str, tuple[Pod, list[PodDisruptionBudget], str]] = {
    "nothing is allowed": (pod(), [FULL], "the PodDisruptionBudget b needs 2 healthy pods and has"),
    "it is not processed": (
        pod(),
        [pdb(observed_generation=0, disruptions_allowed=5)],
        "processed",
    ),
    "there are two": (pod(), [pdb("b"), pdb("a")], "PodDisruptionBudgets a and b cover it"),
    "there are two, for a pod that is not ready": (
        pod(ready=False),
        [pdb("b"), pdb("a")],
        "a and b",
    ),
    "too many are disrupted": (
        pod(),
        [pdb(disruptions_allowed=1, disrupted_pods={str(n): "" for n in range(2001)})],
        "waits for 2001 pods",
    ),
    "the API server decides in groups, and has not counted yet": (
        pod(),
        [pdb(scope="PodGroup", disruptions_allowed_replicas=1, observed_generation=0)],
        "processed",
    ),
    "groups that the API server does not know": (pod(), [pdb(scope="Workload")], "needs 2"),
    "a negative number": (pod(), [pdb(disruptions_allowed=-1)], "needs 2"),
    "an unready pod, with too few healthy ones": (
        pod(ready=False),
        [pdb(current_healthy=1)],
        "needs 2",
    ),
    "an unready pod, where none has to be healthy": (
        pod(ready=False),
        [pdb(current_healthy=0, desired_healthy=0)],
        "needs 0",
    ),
}
SCOPED: dict[str, Any] = {
    "scope": "Workload",
    "disruptions_allowed": 0,
    "disruptions_allowed_replicas": 0,
}
LET_GO: dict[str, tuple[Pod, list[PodDisruptionBudget]]] = {
    "no budget": (pod(), []),
    "one is allowed": (pod(), [pdb(disruptions_allowed=1)]),
    "the API server decides in groups": (pod(), [pdb(**SCOPED)]),
    "the same, for an unready pod": (pod(ready=False), [pdb(**SCOPED, current_healthy=1)]),
    "pending": (pod("Pending", ready=False), [FULL, pdb("a")]),
    "finished": (pod("Succeeded"), [FULL]),
    "terminating": (pod(terminating=True), [FULL]),
    "an unready pod, with enough healthy ones": (pod(ready=False), [FULL]),
    "an unready pod under AlwaysAllow": (
        pod(ready=False),
        [pdb(policy="AlwaysAllow", current_healthy=0)],
    ),
}


@pytest.mark.parametrize(("one", "budgets", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(one: Pod, budgets: list[PodDisruptionBudget], why: str) -> None:
    said = refusal(one, budgets)
    assert said.startswith("Pod p cannot be evicted now: ")
    assert why in said


@pytest.mark.parametrize(("one", "budgets"), LET_GO.values(), ids=LET_GO)
def test_what_is_not_refused(one: Pod, budgets: list[PodDisruptionBudget]) -> None:
    assert refusal(one, budgets) == ""


def test_evictions_that_the_budget_does_not_show_yet_count() -> None:
    two = pdb(disruptions_allowed=2)
    assert refusal(pod(), [two], under_way=1) == ""
    assert refusal(pod(), [two], under_way=2)
