"""Rules of the gate and the recount, each broken on purpose: the simulation must notice every one.

Two rules back each other up, so both must be broken at once: a new leader lists pods afresh, and no
recount uses a store that is older than that of an earlier recount. If only one leader recounts at a
time, the first rule is enough; if several do, the second.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from intact.budget.pub import decision
from intact.budget.pub import recount as rules
from intact.budget.pub.decision import Decision, Reason, decide
from intact.budget.pub.recount import unseen
from intact.budget.pub.subject import Subject
from intact.kube.client import Client
from intact.kube.errors import Conflict
from intact.kube.history import History
from intact.kube.reflector import Reflector
from intact.kube.resources import PUBS
from intact.kube.store import Store
from intact.model.pod import Pod, PodMeta
from intact.model.pub import KeptPods, LedgerRecord, PodUnavailableBudget
from intact.operator.pub import commits, gate, recount
from intact.operator.pub.confirmation import Confirmation
from intact.operator.pub.controller import PubController
from intact.operator.pub.native_budgets import NativeBudgets
from tests.simulation.scenario import (
    STALE,
    Scenario,
    Weather,
    forged,
    plain,
    refused,
    restored,
    unreachable,
    unscaled,
)
from tests.simulation.simulate import Stuck
from tests.simulation.truth import Violation

Break = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Rule:
    broken: Break
    make: Callable[[int], Scenario] = plain
    """The scenarios in which the rule matters most."""
    shows: type[AssertionError] = Violation
    """As what a run fails."""
    first: int = 0
    """The first seed to look with."""


def stale(seed: int) -> Scenario:
    """Watches of pods lag far behind, and leaders change."""
    made = plain(seed)
    paces = replace(made.paces, deletions=1, deaths=8, failures=None)
    return replace(made, weather=replace(STALE, pod_lags=(0.02, 30)), paces=paces, lease=3.0)


def behind(seed: int) -> Scenario:
    """No operator is up to date with its pods, and many pods go."""
    made = plain(seed)
    paces = replace(made.paces, deletions=0.3, deaths=30, failures=None)
    return replace(made, weather=replace(STALE, pod_lags=(15,)), paces=paces, lease=3.0)


def asleep(seed: int) -> Scenario:
    """Pods take longer to start, and watches take longer to report it, than a record lives."""
    made = plain(seed)
    paces = replace(made.paces, deletions=1, deaths=1000, failures=None)
    weather = replace(STALE, pod_lags=(80,), storms=0)
    return replace(made, weather=weather, paces=paces, lease=3.0, duration=60, slowest_start=40.0)


def _not_recorded(reason: Reason) -> Break:
    def break_rule(patch: pytest.MonkeyPatch) -> None:
        def forgetful(*args: Any, **kwargs: Any) -> Decision:
            decision = decide(*args, **kwargs)
            if decision.reason is reason:
                return Decision(decision.allowed, decision.reason, decision.message)
            return decision

        patch.setattr(commits, "decide", forgetful)

    return break_rule


def _from_any_store(patch: pytest.MonkeyPatch) -> None:
    """Recounts also from a store that is older than an earlier recount's."""
    patch.setattr(recount, "is_current", lambda _budget, _seen: True)


def all_operators_recount(patch: pytest.MonkeyPatch) -> None:
    """Every operator recounts and clears the ledger, not only the leader."""
    run = PubController.run

    async def run_and_lead(self: PubController) -> None:
        self.recounter._leads = lambda: True
        async with asyncio.TaskGroup() as group:
            group.create_task(run(self))
            group.create_task(self.lead())

    patch.setattr(PubController, "run", run_and_lead)


def _all_operators_recount_from_any_store(patch: pytest.MonkeyPatch) -> None:
    all_operators_recount(patch)
    _from_any_store(patch)


def _a_new_leader_trusts_its_store(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reflector, "list_again", lambda _self: None)
    _from_any_store(patch)


def _unknown_pods_are_gone(patch: pytest.MonkeyPatch) -> None:
    """A recount clears a record if its pod is not in the store, however old the store is."""

    def careless(
        records: Mapping[str, LedgerRecord],
        find: Callable[[str], Pod | None],
        _seen: str,
        now: datetime,
        versions: Mapping[str, str],
    ) -> tuple[dict[str, LedgerRecord], dict[str, LedgerRecord]]:
        return unseen(records, find, str(2**62), now, versions)

    def is_not_before_the_last_recount(budget: PodUnavailableBudget, seen: str) -> bool:
        return seen.isdigit() and int(seen) >= int(budget.status.ledger.seen or 0)

    patch.setattr(recount, "unseen", careless)
    patch.setattr(recount, "is_current", is_not_before_the_last_recount)


def _time_alone_clears(patch: pytest.MonkeyPatch) -> None:
    """A recount clears an expired record without looking at its pod again."""

    def hasty(
        records: Mapping[str, LedgerRecord],
        find: Callable[[str], Pod | None],
        seen: str,
        now: datetime,
        _versions: Mapping[str, str],
    ) -> tuple[dict[str, LedgerRecord], dict[str, LedgerRecord]]:
        pods = [pod for record in records.values() if (pod := find(record.name))]
        unread = {pod.metadata.uid: pod.metadata.resource_version for pod in pods}
        return unseen(records, find, seen, now, unread)

    patch.setattr(recount, "unseen", hasty)


def _nothing_is_compared(patch: pytest.MonkeyPatch) -> None:
    """A status write does not compare versions: the last writer wins."""
    update = Client.update

    async def overwrite(self: Client, resource: Any, body: Any, *args: Any, **kwargs: Any) -> Any:
        while resource is PUBS:
            meta = body["metadata"]
            found = await self.get(PUBS, meta["name"], meta["namespace"])
            body = body | {"metadata": meta | {"resourceVersion": found.metadata.resource_version}}
            try:
                return await update(self, resource, body, *args, **kwargs)
            except Conflict:
                continue
        return await update(self, resource, body, *args, **kwargs)

    patch.setattr(Client, "update", overwrite)


def _pods_are_their_names(patch: pytest.MonkeyPatch) -> None:
    """Records are by name: a pod that comes back is taken for the one before."""
    put, subject = Store.put, gate._subject

    def put_by_name(self: Store[Any], obj: Any) -> None:
        if isinstance(obj, Pod):
            meta = msgspec.structs.replace(obj.metadata, uid=obj.metadata.name)
            obj = msgspec.structs.replace(obj, metadata=meta)
        put(self, obj)

    def subject_by_name(*args: Any) -> Subject:
        found = subject(*args)
        return replace(found, uid=found.name)

    patch.setattr(Store, "put", put_by_name)
    patch.setattr(gate, "_subject", subject_by_name)


def _reviews_are_believed(patch: pytest.MonkeyPatch) -> None:
    """The UID and the version of a pod are taken from the review."""

    async def believe(self: Confirmation, shown: PodMeta) -> Pod | None:
        known = self._pods.get(shown.namespace, shown.name)
        return msgspec.structs.replace(known, metadata=shown) if known else None

    patch.setattr(Confirmation, "of", believe)


def _totals_shrink(patch: pytest.MonkeyPatch) -> None:
    """The total of owners without a scale is the number of pods that are there."""
    patch.setattr(rules, "keep", lambda _before, present, *_: KeptPods(pods=present))


def _every_need_is_reached(patch: pytest.MonkeyPatch) -> None:
    """A group counts as broken if it never had as many pods as it needs."""
    patch.setattr(rules, "_is_reached", lambda _budget, counts, _: counts.need is not None)


def _native_budgets_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    """A unit is spent on a pod that a PodDisruptionBudget holds, and again whenever it is asked
    for."""
    patch.setattr(NativeBudgets, "refusal", lambda _self, _pod: "")
    patch.setattr(decision, "waits_until", lambda *_: None)


def _nobody_looks_back(patch: pytest.MonkeyPatch) -> None:
    """A watch goes on where it was, also on a server that was restored from a backup."""

    async def trust(self: Reflector[Any]) -> None:
        self._doubtful = False

    patch.setattr(Reflector, "_look_back", trust)
    patch.setattr(History, "went_back", lambda _self: None)


def _nothing_is_in_doubt(patch: pytest.MonkeyPatch) -> None:
    """Neither a gate nor a recount waits until the server has been heard again after a watch has
    ended."""
    patch.setattr(Reflector, "is_doubtful", property(lambda _self: False))


def often_restored(seed: int) -> Scenario:
    """The API goes back every few seconds, and the network is slow to tell."""
    made = plain(seed)
    paces = replace(made.paces, deaths=1000, failures=None)
    weather = Weather(0.3, slow=0.3, lost=0.1)
    return replace(made, paces=paces, weather=weather, restores=2.0)


def special(circumstance: Callable[[Scenario], Scenario]) -> Callable[[int], Scenario]:
    """The scenarios of one circumstance alone."""
    return lambda seed: circumstance(plain(seed))


BROKEN: dict[str, Rule] = {
    "surplus is not recorded": Rule(_not_recorded(Reason.SURPLUS)),
    "a pod of a broken group is not recorded": Rule(_not_recorded(Reason.GROUP_UNAVAILABLE)),
    "all operators recount, from any store": Rule(_all_operators_recount_from_any_store),
    "pods that the store does not know are gone": Rule(_unknown_pods_are_gone, behind),
    "nothing is compared": Rule(_nothing_is_compared),
    "records by name": Rule(_pods_are_their_names),
    "a new leader trusts its store": Rule(_a_new_leader_trusts_its_store, stale),
    "time alone clears a record": Rule(_time_alone_clears, asleep),
    "reviews are believed": Rule(_reviews_are_believed, special(forged)),
    "totals shrink with the pods": Rule(_totals_shrink, special(unscaled)),
    "every need is reached": Rule(_every_need_is_reached, special(unreachable)),
    "native budgets are not looked at": Rule(
        _native_budgets_are_not_looked_at, special(refused), Stuck
    ),
    "nobody looks back": Rule(_nobody_looks_back, special(restored), Stuck),
    "nothing is in doubt": Rule(_nothing_is_in_doubt, often_restored, first=100),
}
