"""The state of the API after every step of a course with a native budget in groups, and its rules.

No eviction of a ready pod may leave fewer groups available than the budget desires, unless the
group was down already and either an eviction had let it go or the budget is `AlwaysAllow`. A budget
whose need no group can reach lets no ready pod go at all.

The gate is not charged with what it could not know: a pod that failed on its own counts as ready
until a recount has seen it, and for an eviction that was recorded before, it still does. A pod that
is ready again counts as not ready until a recount has seen that, and so may its group as down.
"""

import json
from dataclasses import dataclass

from intact.sandbox import MemoryApi
from tests.simulation.truth import is_ready, is_terminating
from tests.support.objects import PDBS, Json

NAMESPACE = "ns"
BUDGET = "b"


class TooManyDown(AssertionError):
    """More groups were down at one moment than the budget allows."""


@dataclass(slots=True)
class _Pod:
    obj: Json
    ready: bool
    since: int
    """When it turned ready, if it is."""

    @property
    def group(self) -> str:
        group: str = self.obj["metadata"]["labels"]["group"]
        return group


class GroupTruth:
    def __init__(
        self,
        api: MemoryApi,
        need: int,
        groups: dict[str, int],
        desired: int,
        *,
        always_allow: bool,
    ) -> None:
        self.counted = False
        """Whether the budget has been counted with all groups up."""
        self.failures = 0
        self.taken_while_down = 0
        """Ready pods that were evicted while too few groups were available."""
        self._api = api
        self._need = need
        self._groups = groups
        self._desired = desired
        self._always_allow = always_allow
        self._reachable = max(groups.values()) >= need
        self._revision = 0
        self._pods: dict[str, _Pod] = {}
        self._failed: dict[str, tuple[int, str]] = {}
        """Since when pods have failed, and their groups: also of those that are gone."""
        self._place: dict[str, str] = {}
        """By name, the failed pod whose successor has not been ready yet."""
        self._let_go: dict[str, None] = {}
        """Groups that the budget could afford to let go, until a recount has found them up again.
        Only the ledger says when: by its count, pods are gone that are about to go."""
        self._seen = 0
        self._recorded: dict[str, int] = {}
        """By name of each recorded pod: what had been seen when it was first recorded."""
        self._budget: Json | None = None

    def observe(self) -> None:
        if self._api.revision == self._revision:
            return
        self._revision = self._api.revision
        self._look_at_budget()
        taken = self._look_at_pods()
        self.counted = self.counted or (self._budget is not None and not self.down())
        if self.counted:
            for name, pod in taken:
                self._charge(name, pod)

    def down(self, known: int | None = None) -> set[str]:
        """Groups below their need; those that failed after `known` count as they were."""
        ready = dict.fromkeys(self._groups, 0)
        for pod in self._pods.values():
            ready[pod.group] += pod.ready
        for revision, group in self._failed.values():
            ready[group] += known is not None and revision > known
        return {group for group, number in ready.items() if number < self._need}

    def _look_at_budget(self) -> None:
        found = self._api.peek(PDBS.full_name, NAMESPACE, BUDGET)
        if found is None or found is self._budget:
            return
        text = found["metadata"].get("annotations", {}).get("intact.dev/ledger")
        if not text:
            return
        self._budget = found
        ledger = json.loads(text)
        self._seen = int(ledger.get("seen") or 0)
        self._recorded = {
            name: self._recorded.get(name, self._seen) for name in ledger.get("pods", {})
        }
        let_go = ledger.get("letGo", {}).keys()
        for group in self._let_go.keys() - let_go:
            del self._let_go[group]
        for group in let_go - self._let_go.keys():
            down = self.down(self._seen) | {group}
            if len(self._groups) - len(down) >= self._desired:
                self._let_go[group] = None

    def _look_at_pods(self) -> list[tuple[str, _Pod]]:
        """The ready pods that were just evicted, by name, as they were."""
        taken = []
        here: dict[str, _Pod] = {}
        for obj in self._api.objects("pods", NAMESPACE):
            meta = obj["metadata"]
            uid, name = meta["uid"], meta["name"]
            old = self._pods.get(uid)
            if old is not None and old.obj is obj:
                here[uid] = old
                continue
            ready = is_ready(obj) and not is_terminating(obj)
            since = old.since if old is not None and old.ready else self._revision
            new = here[uid] = _Pod(obj, ready, since)
            if new.ready:
                self._failed.pop(uid, None)
                self._failed.pop(self._place.pop(name, ""), None)
            if old is None or not old.ready or new.ready:
                continue
            if is_terminating(obj):
                taken.append((name, old))
            else:
                self.failures += 1
                self._failed[uid] = self._revision, new.group
                self._place[name] = uid
        self._pods = here
        return taken

    def _charge(self, name: str, pod: _Pod) -> None:
        group = pod.group
        known = min(self._seen, self._recorded.get(name, self._seen))
        down = self.down(known)
        if group not in down:
            return
        left = len(self._groups) - len(down)
        was_down = self._was_down(pod, known)
        if self._reachable and left >= self._desired:
            return
        if self._reachable and was_down and (self._always_allow or group in self._let_go):
            self.taken_while_down += 1
        else:
            raise TooManyDown(
                f"{name} was taken: {left} of {len(self._groups)} groups are available and "
                f"{self._desired} desired; down: {sorted(down)}"
            )

    def _was_down(self, taken: _Pod, known: int) -> bool:
        """Its group, before it was taken just now: in truth, or as far as a recount has seen."""
        others = [pod for pod in self._pods.values() if pod.group == taken.group and pod.ready]
        return sum(pod.since <= known for pod in (taken, *others)) < self._need
