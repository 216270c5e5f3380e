"""The report as JSON has the names of the Kubernetes API's style, and is plain values."""

import json

from tests.support.small_clusters import SmallCluster
from tests.unit.sandbox.rehearsal.scene import drained


def test_as_json() -> None:
    made = SmallCluster()
    for name in ("red", "blue"):
        made.pod_group(name, ["node-0", "node-1"])
    made.pdb("llm", {"app": "llm"}, scope="Workload", maxUnavailable=1)
    made.pod("bare", "node-0")
    found = json.loads(json.dumps(drained(made, "node-0").as_json()))
    assert found["goesThrough"] is False
    assert found["breaks"] == 2
    [budget] = found["budgets"]
    assert (budget["mostDown"], budget["unit"], budget["name"]) == (1, "group", "llm")
    [never] = found["never"]
    assert (never["pod"], never["why"]) == ("bare", "Bare")
    assert {each["pod"] for each in found["pods"]} == {"red-0", "blue-0"}
    assert found["startTimes"][0]["source"] == "observed"
    assert found["withIntact"] is None
