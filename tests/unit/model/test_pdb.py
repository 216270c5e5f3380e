"""A PodDisruptionBudget as policy/v1 writes it."""

import msgspec

from intact.model.pdb import ManagedFields, PodDisruptionBudget


def test_a_budget_is_read_with_its_writers_and_its_disrupted_pods() -> None:
    body = b"""{
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "ns", "generation": 2, "managedFields": [
            {"manager": "kcm", "operation": "Update", "subresource": "status", "time": "t",
             "fieldsV1": {"f:status": {}}}
        ]},
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "a"}},
                 "unhealthyPodEvictionPolicy": "AlwaysAllow"},
        "status": {"disruptionsAllowed": 1, "expectedPods": 3, "disruptedPods": {"p": "t"}}
    }"""
    budget = msgspec.json.decode(body, type=PodDisruptionBudget)
    assert budget.metadata.generation == 2
    assert budget.metadata.managed_fields == [
        ManagedFields(manager="kcm", operation="Update", subresource="status", time="t")
    ]
    assert (budget.spec.min_available, budget.spec.max_unavailable) == ("50%", None)
    assert budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
    assert (budget.status.disruptions_allowed, budget.status.expected_pods) == (1, 3)
    assert budget.status.disrupted_pods == {"p": "t"}


def test_no_selector_is_not_an_empty_selector() -> None:
    """The first selects nothing, the second everything."""
    for spec, has_selector in ((b"{}", False), (b'{"selector": {}}', True)):
        body = b'{"metadata": {"name": "b"}, "spec": %s}' % spec
        budget = msgspec.json.decode(body, type=PodDisruptionBudget)
        assert (budget.spec.selector is not None) == has_selector


def test_a_zero_time_is_read_as_one_that_is_long_past() -> None:
    """The API server takes `0001-01-01T00:00:00Z` and shows it as null."""
    body = b'{"metadata": {"name": "b"}, "status": {"disruptedPods": {"p": null, "q": "t"}}}'
    budget = msgspec.json.decode(body, type=PodDisruptionBudget)
    assert budget.status.disrupted_pods == {"p": "0001-01-01T00:00:00Z", "q": "t"}
