"""What `/metrics` shows of coordinated rollouts, read from the status of RoleBasedGroups at each
scrape."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from fractions import Fraction

from prometheus_client.core import GaugeMetricFamily, Metric

from intact.kube.store import Key, Store, key_of
from intact.model.rbg import CoordinationState, RoleBasedGroup
from intact.model.times import parse_time
from intact.rollout.coordinations import ROLLING_UPDATE
from intact.rollout.plan import State
from intact.rollout.progress import PROGRESSING, overall

LABELS = ["namespace", "group", "coordination"]


def rollouts_of(group: RoleBasedGroup) -> Iterator[CoordinationState]:
    return (
        one
        for one in group.status.coordination_state
        if one.type == ROLLING_UPDATE and one.progress
    )


class RolloutTimes:
    """When the rollout of each RoleBasedGroup began, and when it ended."""

    def __init__(self, groups: Store[RoleBasedGroup], now: Callable[[], datetime]) -> None:
        self.now = now
        self._groups = groups
        self._times: dict[tuple[Key, str], tuple[datetime, datetime | None]] = {}
        groups.subscribe(self._changed)

    def _changed(self, old: RoleBasedGroup | None, new: RoleBasedGroup | None) -> None:
        if new is None:
            if old is not None:
                self._times = {at: time for at, time in self._times.items() if at[0] != key_of(old)}
            return
        for one in rollouts_of(new):
            key = (key_of(new), one.name)
            known = self._times.get(key)
            completed = overall(one.progress) is State.COMPLETED
            if completed and known is not None and known[1] is None:
                self._times[key] = (known[0], self.now())
            elif not completed and (known is None or known[1] is not None):
                began = _since(new) if old is None else None
                self._times[key] = (began or self.now(), None)

    def seconds(self) -> Iterator[tuple[list[str], float]]:
        """By namespace, RoleBasedGroup and coordination: of the present or the last rollout."""
        for (key, name), (began, ended) in self._times.items():
            yield [*key, name], ((ended or self.now()) - began).total_seconds()


def _since(group: RoleBasedGroup) -> datetime | None:
    """Of a rollout that began before this process saw it."""
    found = group.status.condition(PROGRESSING)
    if found is None or found.status != "True" or not found.last_transition_time:
        return None
    return parse_time(found.last_transition_time)


def metrics_of_rollouts(groups: Store[RoleBasedGroup], times: RolloutTimes) -> Iterable[Metric]:
    skew = GaugeMetricFamily(
        "intact_rollout_skew_ratio",
        "Largest difference between the updated and ready fractions of the roles.",
        labels=LABELS,
    )
    progress = GaugeMetricFamily(
        "intact_rollout_progress_ratio",
        "Fraction of a role's replicas that are updated and ready.",
        labels=[*LABELS, "role"],
    )
    stalled = GaugeMetricFamily(
        "intact_rollout_stalled_seconds",
        "Seconds for which a stalled role has made no progress; 0 if it is not stalled.",
        labels=[*LABELS, "role"],
    )
    for group in groups:
        for one in rollouts_of(group):
            key = [*key_of(group), one.name]
            parts = {
                name: Fraction(role.ready, role.desired) if role.desired else Fraction(1)
                for name, role in one.progress.items()
            }
            skew.add_metric(key, float(max(parts.values()) - min(parts.values())))
            for name, role in one.progress.items():
                progress.add_metric([*key, name], float(parts[name]))
                seconds = 0.0
                if role.state == State.STALLED and role.since:
                    seconds = (times.now() - parse_time(role.since)).total_seconds()
                stalled.add_metric([*key, name], seconds)
    duration = GaugeMetricFamily(
        "intact_rollout_duration_seconds",
        "Duration of the present rollout, or of the last one.",
        labels=LABELS,
    )
    for key, value in times.seconds():
        duration.add_metric(key, value)
    yield from (skew, progress, stalled, duration)
