"""Whatever a ledger states, a recount ends, and nothing holds for longer than it may."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pub.counts import Counts, Member
from intact.budget.pub.decision import Reason, decide
from intact.budget.pub.ledger import RECORD_LIFETIME, Operation, expires_at
from intact.budget.pub.ledger_repair import repair
from intact.budget.pub.recount import (
    Expectation,
    desired_of,
    is_current,
    next_expiry,
    overdue,
    recount,
    unseen,
)
from intact.budget.pub.subject import Subject
from intact.model.meta import ObjectMeta
from intact.model.pod import Pod, PodMeta
from intact.model.pub import (
    UNREADABLE,
    ContainerMark,
    KeptPods,
    Ledger,
    LedgerRecord,
    PodUnavailableBudget,
    PubSpec,
    PubStatus,
    read_ledger,
    write_ledger,
)
from intact.model.times import SKEW, timestamp
from intact.model.versions import Present
from tests.support.damage import damaged

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PRESENT = Present("100", {"uid-a": "90", "uid-b": "95"})


def record(name: str = "a", **more: Any) -> LedgerRecord:
    given = {"operation": "DELETE", "at": timestamp(NOW), "resource_version": "80"} | more
    return LedgerRecord(name=name, **given)


SOUND = Ledger(pods={"uid-a": record()}, seen="99", surplus={"g": 1}, unavailable_groups=["h"])
VALID = Ledger(
    pods={
        "uid-a": record(),
        "uid-b": record(
            "b",
            operation="UPDATE",
            group="g",
            containers={
                "main": ContainerMark(
                    container_id="c1", image_id="i1", image="web:1", wanted="web:2"
                )
            },
        ),
        "uid-gone": record("gone", operation="EVICT", group="h"),
    },
    unavailable_groups=["h"],
    surplus={"g": 1},
    released=["owner"],
    kept={"other": KeptPods(pods=3, gone={timestamp(NOW): 1})},
    seen="99",
)


def test_a_sound_ledger_stays_as_it_is() -> None:
    for present in (None, PRESENT):
        found = repair(SOUND, NOW, present)
        assert found.ledger is SOUND
        assert found.problems == ()


REPAIRED: dict[str, tuple[LedgerRecord, LedgerRecord | None, str]] = {
    "no time": (record(at="soon"), record(), "was recorded at 'soon', which is not in the past"),
    "a time to come": (
        record(at="2400-01-01T00:00:00Z"),
        record(),
        "'2400-01-01T00:00:00Z', which is not in the past",
    ),
    "an unknown operation": (record(operation="FLY"), record(), "was recorded for 'FLY'"),
    "no version": (
        record(resource_version="abc"),
        record(resource_version="90"),
        "pod a had version 'abc', which is yet to come",
    ),
    "a version to come": (
        record(resource_version="101"),
        record(resource_version="90"),
        "pod a had version '101', which is yet to come",
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_what_cannot_be_is_repaired_and_told(name: str) -> None:
    stated, expected, problem = REPAIRED[name]
    found = repair(Ledger(pods={"uid-a": stated}, seen="99"), NOW, PRESENT)
    assert found.ledger == Ledger(pods={"uid-a": expected} if expected else {}, seen="99")
    assert problem in "".join(found.problems)


def test_a_version_to_come_of_a_pod_that_does_not_exist_ends_its_record() -> None:
    found = repair(Ledger(pods={"never": record(resource_version="101")}), NOW, PRESENT)
    assert found.ledger.pods == {}


def test_a_recount_of_a_future_becomes_one_of_the_pods_that_there_are() -> None:
    found = repair(Ledger(seen="999999999999999"), NOW, PRESENT)
    assert found.ledger.seen == "95"
    [problem] = found.problems
    assert "'999999999999999'" in problem


def test_versions_may_be_ahead_of_a_store_and_times_of_a_clock() -> None:
    ahead = Ledger(
        pods={"uid-a": record(resource_version="500", at=timestamp(NOW + SKEW))}, seen="500"
    )
    assert repair(ahead, NOW).ledger is ahead


def test_a_text_that_cannot_be_read_becomes_an_empty_ledger() -> None:
    found = repair(UNREADABLE, NOW, PRESENT)
    assert (found.ledger, found.problems) == (Ledger(), ("it cannot be read",))


def budget_of(ledger: Ledger) -> PodUnavailableBudget:
    return PodUnavailableBudget(
        metadata=ObjectMeta(name="b", namespace="ns", uid="u"),
        spec=PubSpec(max_unavailable=1),
        status=PubStatus().with_ledger(ledger),
    )


PODS = {
    name: Pod(
        metadata=PodMeta(name=name, namespace="ns", uid=f"uid-{name}", resource_version=version)
    )
    for name, version in (("a", "90"), ("b", "95"))
}


@given(text=damaged(write_ledger(VALID)))
def test_a_recount_of_any_ledger_ends_and_allows_no_more_than_the_live_count(text: str) -> None:
    stated = read_ledger(text)
    found = repair(stated, NOW, PRESENT)
    assert repair(found.ledger, NOW, PRESENT).problems == (), "repaired once and for all"
    budget = budget_of(found.ledger)
    assert is_current(budget, PRESENT.version)
    assert overdue(found.ledger.pods, PODS.get, NOW) is not None
    records, _ = unseen(found.ledger.pods, PODS.get, PRESENT.version, NOW, {})
    assert records.keys() <= PRESENT.objects.keys()
    limit = NOW + RECORD_LIFETIME + SKEW
    assert all(expires_at(each.at) <= limit for each in records.values())
    assert (next_expiry(records.values(), NOW) or NOW) <= limit
    counts = Counts(None)
    for uid in PRESENT.objects:
        counts.put(uid, Member(owner="", available=True))
    live = counts.available
    counts.set_ledger(records)
    status = recount(budget, counts, Expectation(total=2), records, PRESENT.version, NOW).status
    assert 0 <= status.unavailable_allowed <= live - desired_of(budget.spec, 2)
    assert read_ledger(write_ledger(status.ledger)) == status.ledger
    # Once the records have outlived their time, only the live count is left.
    late = limit + timedelta(seconds=1)
    left, _ = unseen(
        {uid: each for uid, each in records.items() if not each.containers},
        PODS.get,
        PRESENT.version,
        late,
        dict(PRESENT.objects),
    )
    assert left == {}


@given(text=damaged(write_ledger(VALID)), operation=st.sampled_from(list(Operation)))
def test_the_gate_answers_on_any_ledger(text: str, operation: Operation) -> None:
    budget = budget_of(read_ledger(text))
    for name in ("a", "b", "gone"):
        pod = Subject(name, f"uid-{name}", "90", available=True, group="g")
        decision = decide(budget, pod, operation, NOW, 2, 2)
        assert decision.allowed or decision.message


def test_the_gate_lets_no_pod_go_on_a_record_that_cannot_be() -> None:
    for at in ("soon", "2400-01-01T00:00:00Z", "2026-13-01T00:00:00Z"):
        budget = budget_of(Ledger(pods={"uid-a": record(at=at)}))
        ledger = msgspec.structs.replace(budget.status.ledger, rules=rules())
        budget = msgspec.structs.replace(budget, status=budget.status.with_ledger(ledger))
        pod = Subject("a", "uid-a", "90", available=True)
        decision = decide(budget, pod, Operation.DELETE, NOW, 2, 2)
        assert (decision.allowed, decision.reason) == (False, Reason.NOT_PROCESSED)
        assert "Intact is repairing it" in decision.message


def rules() -> str:
    counted = recount(budget_of(Ledger()), Counts(None), Expectation(total=2), {}, "1", NOW)
    return counted.status.ledger.rules
