"""For a cluster without Intact, the report says what would differ."""

from intact.sandbox.rehearsal.compare import compared, in_groups
from intact.sandbox.rehearsal.report import Report
from intact.sandbox.snapshot.document import Snapshot
from tests.support.small_clusters import SCOPE, SmallCluster
from tests.unit.sandbox.rehearsal.scene import drained


class Given(SmallCluster):
    def __init__(self, found: Snapshot) -> None:
        super().__init__(intact=True)
        self._found = found

    def snapshot(self) -> Snapshot:
        return self._found


def plain() -> SmallCluster:
    made = SmallCluster(intact=False)
    for number in range(3):
        made.pod_group(f"shard-{number}", ["node-0", "node-0", "node-1"])
    made.pdb("llm", {"app": "llm"}, maxUnavailable=2)
    made.deployment("web", ["node-1"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    return made


def report_of(made: SmallCluster) -> Report:
    def again(other: Snapshot) -> Report:
        return drained(Given(other), "node-0")

    return compared(drained(made, "node-0"), made.snapshot(), again)


def test_budgets_over_groups_get_the_label_and_others_do_not() -> None:
    found, names = in_groups(plain().snapshot())
    assert names == {("default", "llm")}
    llm, web = found.of("poddisruptionbudgets.policy")
    assert llm["metadata"]["labels"] == {SCOPE: "Workload"}
    assert web["metadata"]["labels"] == {}


def test_the_same_with_intact_breaks_groups_less_often() -> None:
    report = report_of(plain())
    found = report.with_intact
    assert found is not None
    [change] = found.budgets
    assert (change.plain.unit, change.with_intact.unit) == ("pod", "group")
    assert change.with_intact.most_down <= 2
    assert found.breaks < report.breaks


def test_where_no_budget_covers_groups_nothing_differs() -> None:
    made = plain()
    del made.objects["poddisruptionbudgets.policy"][0]
    found = report_of(made).with_intact
    assert found is not None
    assert found.budgets == []
