"""The group that a label names: the value, but for batches of RoleBasedGroups."""

import pytest

from intact.budget.label_groups import group_of, is_batch_key, stated_need
from intact.model.labels import BATCH, ROLE_BASED_GROUP
from intact.model.pod import Pod, PodAnnotations, PodMeta

KEY = BATCH + "pair"


def pod(size: str = "", **labels: str) -> Pod:
    known = {"batch": KEY, "rbg": ROLE_BASED_GROUP, "shard": "shard"}
    return Pod(
        metadata=PodMeta(
            name="p",
            namespace="ns",
            labels={known[name]: value for name, value in labels.items()},
            annotations=PodAnnotations(batch_size=size),
        )
    )


@pytest.mark.parametrize(
    ("found", "key", "group", "need"),
    [
        (pod(shard="a"), "shard", "a", None),
        (pod(shard="a", rbg="llm", size="3"), "shard", "a", None),
        (pod(), "shard", None, None),
        (pod(batch="0", rbg="llm", size="3"), KEY, "llm/0", 3),
        (pod(batch="0", rbg="chat", size="5"), KEY, "chat/0", 5),
        (pod(batch="0", size="3"), KEY, "0", 3),
        (pod(batch="0", rbg="llm"), KEY, "llm/0", None),
        (pod(batch="0", rbg="llm", size="0"), KEY, "llm/0", None),
        (pod(batch="0", rbg="llm", size="many"), KEY, "llm/0", None),
        (pod(batch="0", rbg="llm", size="3"), BATCH + "other", None, 3),
    ],
)
def test_a_pod_is_in_the_group_of_its_label(
    found: Pod, key: str, group: str | None, need: int | None
) -> None:
    assert group_of(found, key) == group
    assert stated_need(found, key) == need


def test_a_batch_key_has_a_coordination() -> None:
    assert is_batch_key(KEY)
    assert not is_batch_key("coordination.workloads.x-k8s.io/pair")
