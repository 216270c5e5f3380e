"""Watches a cluster during a rehearsal: which units are down, when, and which groups break.

It sees every change of a pod at once, past the API, and counts by itself: a budget's own counters
come later.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from intact.budget.pdb.annotations import ledger_of
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_finished, is_ready, is_terminating
from intact.model.pub import PodUnavailableBudget
from intact.picture.coverage import PUB, Coverage, Unit, UnitOf
from intact.sandbox.api import pod_state
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.report import BudgetReport, GroupReport
from intact.sandbox.rehearsal.tracker import Tracker
from intact.sandbox.rehearsal.units import PDBS, PUBS, budgets_in, groups_in


class Observer:
    def __init__(self, api: MemoryApi, now: Callable[[], float], *, pubs: bool) -> None:
        self._api = api
        self._now = now
        self.last_change = now()
        """When a pod was last created, placed, ready, unready, terminating or gone."""
        self._budgets = [(each, Tracker(now)) for each in budgets_in(api, pubs=pubs)]
        self._by_namespace: dict[str, list[tuple[Coverage, Tracker]]] = {}
        for pair in self._budgets:
            self._by_namespace.setdefault(pair[0].namespace, []).append(pair)
        self._grouped: dict[str, UnitOf] = {}
        self._groups: dict[str, Tracker] = {}
        """By namespace: the groups that pods themselves tell of, whether a budget counts them or
        not."""
        self.ended: list[tuple[float, Json]] = []
        """Pods that were deleted since the beginning, in order, with the time."""
        self._members: dict[str, tuple[Any, list[tuple[Tracker, Unit]]]] = {}
        """By UID: the labels of a pod, and what it is part of."""
        self.end = api.follow("pods", self._changed)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self.last_change = self._now()
            if not pod_state.is_terminating(old):
                self.ended.append((self.last_change, old))
            _labels, parts = self._members.pop(old["metadata"]["uid"], (None, []))
            for tracker, _unit in parts:
                tracker.remove(old["metadata"]["uid"])
            return
        if old is None or _state(old) != _state(new):
            self.last_change = self._now()
            if old is not None and _is_new(old, new):
                self.ended.append((self.last_change, new))
        elif old["metadata"].get("labels") == new["metadata"].get("labels"):
            return
        pod = msgspec.convert(new, Pod)
        uid = pod.metadata.uid
        parts = self._parts(pod)
        if is_finished(pod):
            for tracker, _unit in parts:
                tracker.remove(uid)
            return
        available = is_ready(pod) and not is_terminating(pod)
        for tracker, unit in parts:
            tracker.put(uid, unit, available=available)

    def _parts(self, pod: Pod) -> list[tuple[Tracker, Unit]]:
        labels = pod.metadata.labels
        known = self._members.get(pod.metadata.uid)
        if known is not None and known[0] == labels:
            return known[1]
        for tracker, _unit in known[1] if known is not None else ():
            tracker.remove(pod.metadata.uid)
        found = []
        for budget, tracker in self._by_namespace.get(pod.metadata.namespace, ()):
            unit = budget.unit_of(pod) if budget.covers(pod) else None
            if unit is not None:
                found.append((tracker, unit))
        namespace = pod.metadata.namespace
        if namespace not in self._grouped:
            self._grouped[namespace] = groups_in(self._api, namespace)
        unit = self._grouped[namespace](pod)
        if unit is not None:
            found.append((self._groups.setdefault(namespace, Tracker(self._now)), unit))
        self._members[pod.metadata.uid] = (labels, found)
        return found

    def changed(self) -> None:
        """Something else is done to the cluster, which may change pods."""
        self.last_change = self._now()

    def begin(self) -> None:
        """From now on it counts."""
        self.ended.clear()
        for budget, tracker in self._budgets:
            tracker.begin(self._expected(budget))
        for tracker in self._groups.values():
            tracker.begin(None)

    def finish(self) -> None:
        self.end()
        for tracker in self.trackers():
            tracker.end()

    def trackers(self) -> list[Tracker]:
        return [*(tracker for _budget, tracker in self._budgets), *self._groups.values()]

    def covering(self, pod: Json) -> list[Coverage]:
        """The budgets of a pod."""
        view = msgspec.convert(pod, Pod)
        found = self._by_namespace.get(view.metadata.namespace, ())
        return [budget for budget, _tracker in found if budget.covers(view)]

    def budgets(self) -> list[BudgetReport]:
        return [self._budget(budget, tracker) for budget, tracker in self._budgets]

    def _budget(self, budget: Coverage, tracker: Tracker) -> BudgetReport:
        desired = self.desired(budget)
        expected = tracker.expected or 0
        return BudgetReport(
            kind=budget.kind,
            namespace=budget.namespace,
            name=budget.name,
            unit="group" if budget.in_groups else "pod",
            expected=expected,
            desired=desired,
            most_down=tracker.most_down,
            most_down_for=tracker.seconds_at(tracker.most_down) if tracker.most_down else 0.0,
            below_desired_for=tracker.seconds_at(expected - desired + 1),
        )

    def groups(self) -> list[GroupReport]:
        """Those that broke, or are down at the end."""
        found: dict[tuple[str, str], GroupReport] = {}
        counted = [(one.namespace, tracker) for one, tracker in self._budgets if one.in_groups]
        for namespace, tracker in [*counted, *self._groups.items()]:
            for name, course in tracker.units.items():
                if not course.breaks and not course.down_for:
                    continue
                found.setdefault(
                    (namespace, name),
                    GroupReport(
                        namespace, name, course.breaks, course.down_for, down=not course.is_up
                    ),
                )
        return [found[key] for key in sorted(found)]

    def _expected(self, budget: Coverage) -> int | None:
        obj = self._stored(budget)
        if obj is None:
            return None
        if budget.kind == PUB:
            status = msgspec.convert(obj, PodUnavailableBudget).status
            return status.total_replicas if status.observed_generation else None
        view = msgspec.convert(obj, PodDisruptionBudget)
        if budget.in_groups:
            return ledger_of(view).expected or None
        return view.status.expected_pods if view.status.observed_generation else None

    def desired(self, budget: Coverage) -> int:
        """How many units the budget requires, as it says itself."""
        obj = self._stored(budget)
        if obj is None:
            return 0
        if budget.kind == PUB:
            return msgspec.convert(obj, PodUnavailableBudget).status.desired_available
        view = msgspec.convert(obj, PodDisruptionBudget)
        return ledger_of(view).desired if budget.in_groups else view.status.desired_healthy

    def _stored(self, budget: Coverage) -> Json | None:
        full_name = PUBS if budget.kind == PUB else PDBS
        return self._api.peek(full_name, budget.namespace, budget.name)


def _is_new(old: Json, new: Json) -> bool:
    return pod_state.is_terminating(new) and not pod_state.is_terminating(old)


def _state(pod: Json) -> tuple[object, ...]:
    ready = pod_state.condition(pod, "Ready") or {}
    return (
        pod_state.phase(pod),
        ready.get("status"),
        pod["spec"].get("nodeName"),
        pod_state.is_terminating(pod),
    )
