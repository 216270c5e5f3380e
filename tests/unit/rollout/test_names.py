"""Names and labels: the longest ones are valid, and no two RoleBasedGroups share a selector."""

from intact.model.labels import is_label_key, is_label_value
from intact.rollout.names import (
    LONGEST_ROLE,
    LONGEST_WORKLOAD,
    labels,
    role_revision_label,
    selector_labels,
    service_name,
    workload_name,
)


def test_the_longest_role_has_a_valid_revision_label() -> None:
    assert is_label_key(role_revision_label("r" * LONGEST_ROLE))
    assert not is_label_key(role_revision_label("r" * (LONGEST_ROLE + 1)))


def test_the_longest_workload_has_valid_pod_labels() -> None:
    hashed = "w" * LONGEST_WORKLOAD + "-" + "0" * 10
    assert is_label_value(hashed)
    assert not is_label_value(hashed + "0")


def test_names() -> None:
    assert workload_name("llm", "prefill") == "llm-prefill"
    assert service_name("llm", "prefill") == "s-llm-prefill"


def test_selectors_differ_between_namespaces_and_between_roles() -> None:
    found = [
        selector_labels("a", "llm", "prefill"),
        selector_labels("b", "llm", "prefill"),
        selector_labels("a", "llm", "decode"),
        selector_labels("a", "llm2", "prefill"),
    ]
    assert all(one != other for at, one in enumerate(found) for other in found[:at])
    assert found[0].items() < labels("a", "llm", "prefill").items()
