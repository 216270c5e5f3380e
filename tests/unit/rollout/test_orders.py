"""The order of a role outside of any coordination."""

from dataclasses import replace

import pytest

from intact.rollout.facts import WorkloadFacts
from intact.rollout.orders import own_order
from tests.unit.rollout.scene import Scene


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param({}, "llm-prefill", id="nothing there yet"),
        pytest.param({"llm-prefill": "old"}, "llm-prefill", id="its plain name"),
        pytest.param({"llm-prefill-b": "old"}, "llm-prefill-b", id="left by a rollout"),
        pytest.param(
            {"llm-prefill-a": "old", "llm-prefill-b": "new"}, "llm-prefill-b", id="newest"
        ),
        pytest.param({"llm-prefill": "old", "llm-prefill-b": "new"}, "llm-prefill", id="both"),
    ],
)
def test_a_workload_keeps_its_name(there: dict[str, str], expected: str) -> None:
    facts = Scene(3, 1).facts["prefill"]
    live = [WorkloadFacts(name, name, 3, revision) for name, revision in there.items()]
    order = own_order("llm", replace(facts, revision="new", workloads=live))
    assert (order.name, order.revision, order.replicas) == (expected, "new", 3)
    assert order.partition is None, "its own updateStrategy says it"
