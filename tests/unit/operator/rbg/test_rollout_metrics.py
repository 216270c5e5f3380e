from datetime import UTC, datetime, timedelta

from intact.kube.store import Store
from intact.model.meta import Condition, ObjectMeta
from intact.model.rbg import CoordinationState, RbgStatus, RoleBasedGroup, RoleProgress
from intact.operator.rbg.rollout_metrics import RolloutTimes, metrics_of_rollouts

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = {"namespace": "default", "group": "llm", "coordination": "pd"}


def group(prefill: RoleProgress, decode: RoleProgress, since: str = "") -> RoleBasedGroup:
    state = CoordinationState(
        name="pd", type="RollingUpdate", progress={"prefill": prefill, "decode": decode}
    )
    conditions = [Condition(type="Progressing", status="True", last_transition_time=since)]
    status = RbgStatus(coordination_state=[state], conditions=conditions if since else [])
    return RoleBasedGroup(
        metadata=ObjectMeta(name="llm", namespace="default", resource_version="1"), status=status
    )


def progress(state: str, ready: int, desired: int) -> RoleProgress:
    return RoleProgress(state=state, ready=ready, desired=desired, since="2026-01-01T00:00:00Z")


class Scraped:
    def __init__(self) -> None:
        self.now = START
        self.store: Store[RoleBasedGroup] = Store()
        self.times = RolloutTimes(self.store, lambda: self.now)

    def value(self, name: str, **labels: str) -> float:
        [found] = [
            sample.value
            for metric in metrics_of_rollouts(self.store, self.times)
            for sample in metric.samples
            if sample.name == name and sample.labels == KEY | labels
        ]
        return found


def test_a_rollout_is_measured_from_its_status() -> None:
    scraped = Scraped()
    scraped.store.put(group(progress("Waiting", 10, 40), progress("Stalled", 3, 20)))
    scraped.now += timedelta(seconds=90)
    assert scraped.value("intact_rollout_skew_ratio") == 0.1
    assert scraped.value("intact_rollout_progress_ratio", role="decode") == 0.15
    assert scraped.value("intact_rollout_stalled_seconds", role="decode") == 90
    assert scraped.value("intact_rollout_stalled_seconds", role="prefill") == 0


def test_its_duration_ends_when_it_is_completed() -> None:
    scraped = Scraped()
    done = group(progress("Completed", 40, 40), progress("Completed", 20, 20))
    scraped.store.put(done)
    scraped.store.put(group(progress("Updating", 0, 40), progress("Updating", 0, 20)))
    scraped.now += timedelta(seconds=30)
    assert scraped.value("intact_rollout_duration_seconds") == 30
    scraped.store.put(done)
    scraped.now += timedelta(seconds=30)
    assert scraped.value("intact_rollout_duration_seconds") == 30


def test_one_that_was_under_way_began_when_its_status_says() -> None:
    scraped = Scraped()
    since = "2025-12-31T23:59:00Z"
    scraped.store.put(group(progress("Updating", 0, 40), progress("Updating", 0, 20), since))
    assert scraped.value("intact_rollout_duration_seconds") == 60


def test_a_group_that_has_gone_is_not_shown() -> None:
    scraped = Scraped()
    found = group(progress("Updating", 0, 40), progress("Updating", 0, 20))
    scraped.store.put(found)
    scraped.store.remove(("default", "llm"))
    assert list(scraped.times.seconds()) == []
