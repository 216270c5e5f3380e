"""What `intact why` says."""

import pytest

from intact.cli.dashboard.views.parts import Unknown
from intact.cli.dashboard.views.why import why_group, why_node, why_pod
from tests.support.pictures import pub
from tests.unit.cli.dashboard.shards import moment


def test_a_pod_with_the_way_to_its_budget_group_and_node() -> None:
    found = why_pod(moment(), "llm", "s0-1")
    assert found["what"] == "pod s0-1 in llm"
    assert (found["word"], found["kind"]) == ("waits", "waits")
    assert [one["reference"] for one in found["budgets"]] == ["pub/llm"]
    assert (found["group"], found["node"]) == (("llm", "s0"), "node-1")
    assert "s0-1" in found["lines"][0]


def test_a_group_and_a_node() -> None:
    down = moment(pubs=[pub(ledger={"unavailable_groups": ["s2"]})])
    group = why_group(down, "llm", "s2")
    assert (group["what"], group["word"], group["kind"]) == ("group s2 in llm", "may go", "may-go")
    assert [one["reference"] for one in group["budgets"]] == ["pub/llm"]
    assert why_node(moment(), "node-0")["what"] == "node node-0"


def test_what_is_not_there() -> None:
    for said, view, given in (
        ("there is no pod x in namespace llm", why_pod, ("llm", "x")),
        ("there is no group x in namespace llm", why_group, ("llm", "x")),
        ("there is no node x", why_node, ("x",)),
    ):
        with pytest.raises(Unknown, match=said):
            view(moment(), *given)
