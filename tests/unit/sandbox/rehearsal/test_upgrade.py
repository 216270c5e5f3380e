"""All nodes have their turn, in batches, and each batch is back before the next one goes."""

from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.report import Report
from intact.sandbox.rehearsal.stage import Options, Stage
from intact.sandbox.rehearsal.upgrade import upgrade
from tests.support.small_clusters import SmallCluster, asking
from tests.unit.sandbox.rehearsal.scene import budget

NODES = ["node-0", "node-1", "node-2", "node-3"]


def upgraded(made: SmallCluster, batch: int, back_after: float = 60.0) -> Report:
    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        done = await upgrade(stage, drains, NODES, batch, back_after)
        return Outcome(done, drains.reports(NODES))

    return rehearse(made.snapshot(), "upgrade", work, Options(), intact=True)


def full() -> SmallCluster:
    """Only where a node is empty is there room for another pod."""
    made = SmallCluster(nodes=4, cpu="4")
    made.deployment("web", NODES[:3], containers=asking("3"))
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    return made


def test_nodes_come_back_before_the_next_batch() -> None:
    report = upgraded(full(), batch=1)
    assert report.goes_through
    begun = [each.begun or 0.0 for each in report.nodes]
    empty = [each.empty or 0.0 for each in report.nodes]
    assert all(later >= earlier + 60 for later, earlier in zip(begun[1:], empty, strict=False))
    assert budget(report, "web").most_down == 1


def test_a_batch_that_is_too_large_finds_no_room_and_the_rest_has_no_turn() -> None:
    report = upgraded(full(), batch=3)
    assert not report.goes_through
    assert [each.begun is None for each in report.nodes] == [False, False, False, True]
    assert [each.why for each in report.never] == ["NoRoom"]


def test_a_pod_that_waited_for_a_node_to_come_back_has_found_its_place() -> None:
    report = upgraded(full(), batch=2)
    assert report.goes_through
    assert report.unplaced == []
    assert report.recovered > report.took


def test_nodes_that_are_away_for_long_are_waited_for() -> None:
    report = upgraded(full(), batch=1, back_after=1800.0)
    assert report.goes_through
    assert report.took > 4 * 1800
