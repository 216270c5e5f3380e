"""From a snapshot to a report: what is told, with and without Intact, always the same."""

from intact.sandbox.rehearsal.report import Report
from intact.sandbox.rehearsal.stage import Options
from intact.sandbox.snapshot.anonymous import anonymized
from intact.sandbox.snapshot.document import Snapshot
from tests.support.small_clusters import SmallCluster
from tests.unit.sandbox.rehearsal.scene import budget, drained


def shards(*, intact: bool = True) -> SmallCluster:
    """Three groups of two pods, one of each on node-0."""
    made = SmallCluster(intact=intact)
    for number in range(3):
        made.pod_group(f"shard-{number}", ["node-0", "node-1"])
    made.pdb("llm", {"app": "llm"}, scope="Workload", maxUnavailable=1)
    return made


def test_with_intact_one_group_goes_at_a_time() -> None:
    report = drained(shards(), "node-0")
    assert report.goes_through
    assert report.intact
    assert (budget(report, "llm").unit, budget(report, "llm").most_down) == ("group", 1)
    assert [(each.name, each.breaks) for each in report.groups] == [
        ("shard-0", 1), ("shard-1", 1), ("shard-2", 1)]  # fmt: skip
    assert budget(report, "llm").below_desired_for == 0


def test_without_intact_pods_are_counted_where_the_label_means_nothing() -> None:
    made = shards(intact=False)
    made.objects["poddisruptionbudgets.policy"][0]["metadata"]["labels"] = {}
    report = drained(made, "node-0")
    assert (budget(report, "llm").unit, budget(report, "llm").most_down) == ("pod", 1)


def test_a_pub_holds_groups() -> None:
    made = SmallCluster()
    for number in range(3):
        made.stateful_set(f"shard-{number}", ["node-0", "node-1"], {"app": "llm"})
    made.pub("llm", {"app": "llm"}, "set", 2, maxUnavailable=1)
    report = drained(made, "node-0")
    assert report.goes_through
    assert (budget(report, "llm").unit, budget(report, "llm").most_down) == ("group", 1)
    assert report.breaks == 3


def test_it_ends_when_all_is_ready_again() -> None:
    report = drained(shards(), "node-0", options=Options(ready_after={"": 40.0}))
    assert report.recovered >= report.took + 30
    assert [each.seconds for each in report.start_times] == [40, 40, 40]
    assert budget(report, "llm").most_down_for > 110


def figures(report: Report) -> object:
    return (
        report.took,
        report.recovered,
        report.goes_through,
        [(each.begun, each.empty, each.pods) for each in report.nodes],
        [(each.expected, each.desired, each.most_down, each.most_down_for)
         for each in report.budgets],
        sorted((each.breaks, each.down_for) for each in report.groups),
        [(each.at, each.attempts) for each in report.pods],
        [each.why for each in report.never],
    )  # fmt: skip


def test_a_rehearsal_gives_the_same_figures_each_time() -> None:
    assert drained(shards(), "node-0") == drained(shards(), "node-0")


class Anonymous(SmallCluster):
    def snapshot(self) -> Snapshot:
        return anonymized(super().snapshot())


def test_an_anonymized_snapshot_gives_the_same_figures() -> None:
    made, hidden = (kind(intact=True) for kind in (SmallCluster, Anonymous))
    for each in (made, hidden):
        for number in range(3):
            each.pod_group(f"shard-{number}", ["node-0", "node-1"])
        each.deployment("web", ["node-0", "node-0", "node-2"])
        each.pdb("llm", {"app": "llm"}, scope="Workload", maxUnavailable=1)
        each.pdb("web", {"app": "web"}, maxUnavailable=1)
        each.deployment("stuck", ["node-0"])
        each.pub("stuck", {"app": "stuck"}, maxUnavailable=0)
    [node, *_] = [each["metadata"]["name"] for each in hidden.snapshot().of("nodes")]
    assert node != "node-0"
    plain, hidden_too = drained(made, "node-0"), drained(hidden, node)
    assert figures(plain) == figures(hidden_too)
    assert len(plain.never) == 1
