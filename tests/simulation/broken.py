"""Rules of the design, each broken on purpose: with any of them the simulation must fail."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import msgspec
import pytest

from intact.budget.ledger import Decision, Reason, Subject, decide
from intact.budget.recount import unseen
from intact.kube.client import Client
from intact.kube.errors import Conflict
from intact.kube.reflector import Reflector
from intact.kube.resources import PUBS
from intact.kube.store import Store
from intact.model.pod import Pod
from intact.model.pub import LedgerRecord, PodUnavailableBudget
from intact.operator import commits, gate, recounter
from intact.operator.pub import PubReplica

Break = Callable[[pytest.MonkeyPatch], None]


def _not_recorded(reason: Reason) -> Break:
    def break_rule(patch: pytest.MonkeyPatch) -> None:
        def forgetful(*args: Any, **kwargs: Any) -> Decision:
            decision = decide(*args, **kwargs)
            if decision.reason is reason:
                return Decision(decision.allowed, decision.reason, decision.message)
            return decision

        patch.setattr(commits, "decide", forgetful)

    return break_rule


def any_store_will_do(patch: pytest.MonkeyPatch) -> None:
    """Recounts also from a store that is older than an earlier recount's."""
    patch.setattr(recounter, "is_current", lambda _budget, _seen: True)


def everybody_recounts(patch: pytest.MonkeyPatch) -> None:
    """The leader is not the only one who clears the ledger."""
    run = PubReplica.run

    async def run_and_lead(self: PubReplica) -> None:
        self.recounter._leads = lambda: True
        async with _in_background(self.lead()):
            await run(self)

    patch.setattr(PubReplica, "run", run_and_lead)


@asynccontextmanager
async def _in_background(work: Any) -> AsyncGenerator[None, None]:
    import asyncio

    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


def everybody_recounts_from_any_store(patch: pytest.MonkeyPatch) -> None:
    everybody_recounts(patch)
    any_store_will_do(patch)


def unknown_pods_are_gone(patch: pytest.MonkeyPatch) -> None:
    """A record is cleared if its pod is not in the store, however old the store is."""

    def careless(
        records: Mapping[str, LedgerRecord],
        find: Callable[[str], Pod | None],
        _seen: str,
        now: datetime,
        is_fresh: Callable[[Pod], bool] = lambda _pod: True,
    ) -> tuple[dict[str, LedgerRecord], list[str]]:
        return unseen(records, find, str(2**62), now, is_fresh)

    def as_of_the_last_recount(budget: PodUnavailableBudget, seen: str) -> bool:
        return seen.isdigit() and int(seen) >= int(budget.status.ledger.seen or 0)

    patch.setattr(recounter, "unseen", careless)
    patch.setattr(recounter, "is_current", as_of_the_last_recount)


def nothing_is_compared(patch: pytest.MonkeyPatch) -> None:
    """A status is stored whatever was stored since it was read: the last writer wins."""
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


def pods_are_their_names(patch: pytest.MonkeyPatch) -> None:
    """Records by name: a pod that comes back is taken for the one before."""
    put, subject = Store.put, gate._subject

    def put_by_name(self: Store[Any], obj: Any) -> None:
        if isinstance(obj, Pod):
            meta = msgspec.structs.replace(obj.metadata, uid=obj.metadata.name)
            obj = msgspec.structs.replace(obj, metadata=meta)
        put(self, obj)

    def subject_by_name(*args: Any) -> Subject:
        found = subject(*args)
        return Subject(
            **{name: getattr(found, name) for name in Subject.__slots__} | {"uid": found.name}
        )

    patch.setattr(Store, "put", put_by_name)
    patch.setattr(gate, "_subject", subject_by_name)


def a_new_leader_trusts_its_store(patch: pytest.MonkeyPatch) -> None:
    """It does not list afresh, and does not ask how old its store is."""
    patch.setattr(Reflector, "list_again", lambda _self: None)
    any_store_will_do(patch)


def time_alone_clears(patch: pytest.MonkeyPatch) -> None:
    """A record that has outlived its time is cleared without a look at the pod itself."""

    def hasty(
        records: Mapping[str, LedgerRecord],
        find: Callable[[str], Pod | None],
        seen: str,
        now: datetime,
        _is_fresh: Callable[[Pod], bool] = lambda _pod: True,
    ) -> tuple[dict[str, LedgerRecord], list[str]]:
        return unseen(records, find, seen, now)

    patch.setattr(recounter, "unseen", hasty)


BROKEN: dict[str, Break] = {
    "surplus is not recorded": _not_recorded(Reason.SURPLUS),
    "a pod of a broken group is not recorded": _not_recorded(Reason.GROUP_UNAVAILABLE),
    "any store will do": any_store_will_do,
    "everybody recounts, from any store": everybody_recounts_from_any_store,
    "pods that the store does not know are gone": unknown_pods_are_gone,
    "nothing is compared": nothing_is_compared,
    "records by name": pods_are_their_names,
    "a new leader trusts its store": a_new_leader_trusts_its_store,
    "time alone clears a record": time_alone_clears,
}
