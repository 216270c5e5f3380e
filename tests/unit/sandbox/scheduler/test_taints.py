"""Which taints a toleration tolerates."""

from typing import Any

import pytest

from intact.sandbox.scheduler.taints import BLOCKING, tolerates, tolerates_cordon, untolerated

Json = dict[str, Any]
TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "value": "a100", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "a100", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Equal", "value": "h100"}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Gt", "value": "1"}, False),
    ],
)
def test_a_toleration(toleration: Json, holds: bool) -> None:
    assert tolerates(toleration, TAINT) == holds


def test_only_taints_with_one_of_the_effects_matter() -> None:
    soft = {"key": "old", "effect": "PreferNoSchedule"}
    assert untolerated([TAINT, soft], (), BLOCKING) == [TAINT]
    assert untolerated([TAINT, soft], (), ("PreferNoSchedule",)) == [soft]


def test_a_pod_that_tolerates_the_taint_of_a_cordon_runs_on_cordoned_nodes() -> None:
    assert tolerates_cordon([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert not tolerates_cordon([{"key": "gpu", "operator": "Exists"}])
