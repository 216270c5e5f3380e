"""Whatever a budget in groups states, a recount ends, and nothing holds for longer than it may."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pdb.annotations import annotations_of, ledger_of, read_ledger
from intact.budget.pdb.disrupted_pods import look_again, overdue
from intact.budget.pdb.expected_groups import ABSENT
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_recount import is_current, next_check, recount
from intact.budget.pdb.group_settings import LEDGER, read_settings, rules_of
from intact.budget.pdb.ledger_repair import repair
from intact.budget.pdb.pods import DELETION_TIMEOUT
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pdb import PdbMeta, PdbStatus, PodDisruptionBudget
from intact.model.times import SKEW, parse_time, timestamp
from intact.model.versions import Present
from tests.support.damage import JUNK, damaged
from tests.unit.budget.pdb.group_cases import a_budget, a_pod, groups_of

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
PODS = {f"{group}-{n}": a_pod(f"{group}-{n}", group, version="90") for group in "ab" for n in "012"}
PRESENT = Present("100", {pod.metadata.uid: "90" for pod in PODS.values()})
KNOWN = groups_of(3, "a", "b")
VALID = GroupLedger(
    pods={
        "a-0": GroupRecord(uid="uid-a-0", group="a", version="90"),
        "gone": GroupRecord(uid="uid-gone", group="c", version="50"),
    },
    unavailable={"a": 2},
    surplus={"b": 1},
    needs={3: 2},
    absent={"c": timestamp(NOW)},
    allowed=1,
    available=1,
    desired=1,
    expected=2,
    seen="99",
)


def budget_with(text: str | None, disrupted: dict[str, str] | None = None) -> PodDisruptionBudget:
    plain = a_budget(1)
    annotations = {} if text is None else {LEDGER: text}
    return msgspec.structs.replace(
        plain,
        metadata=msgspec.structs.replace(plain.metadata, annotations=annotations),
        status=PdbStatus(disrupted_pods=disrupted or {}),
    )


def text_of(ledger: GroupLedger) -> str:
    mine = msgspec.structs.replace(ledger, rules=rules_of(a_budget(1)))
    return annotations_of(mine)[LEDGER]


def test_a_sound_ledger_stays_as_it_is() -> None:
    budget = budget_with(text_of(VALID), {"a-0": timestamp(NOW)})
    for present in (None, PRESENT):
        found = repair(budget, NOW, present)
        assert (found.ledger, found.problems) == (ledger_of(budget), ())
        assert found.disrupted == budget.status.disrupted_pods


def test_a_budget_without_a_ledger_or_with_that_of_another_has_no_problem() -> None:
    assert repair(budget_with(None), NOW, PRESENT).problems == ()
    another = annotations_of(msgspec.structs.replace(VALID, rules="another"))[LEDGER]
    found = repair(budget_with(another), NOW, PRESENT)
    assert (found.ledger, found.problems) == (GroupLedger(), ())


@pytest.mark.parametrize(
    ("stated", "expected", "problem"),
    [
        ({"seen": "999"}, {"seen": "90"}, "as of version '999' were seen"),
        ({"seen": "abc"}, {"seen": "90"}, "as of version 'abc' were seen"),
        ({"absent": {"c": "soon"}}, {"absent": {"c": timestamp(NOW)}}, "began at 'soon'"),
        (
            {"absent": {"c": "2400-01-01T00:00:00Z"}},
            {"absent": {"c": timestamp(NOW)}},
            "the absence of group c began at '2400",
        ),
        (
            {"pods": {"a-0": GroupRecord(uid="uid-a-0", group="a", version="999")}},
            {"pods": {"a-0": GroupRecord(uid="uid-a-0", group="a", version="90")}},
            "pod a-0 had version '999'",
        ),
        (
            {"pods": {"x": GroupRecord(uid="never", group="a", version="abc")}},
            {"pods": {"x": GroupRecord(uid="never", group="a", version="")}},
            "pod x had version 'abc'",
        ),
    ],
)
def test_what_cannot_be_is_repaired_and_told(
    stated: dict[str, object], expected: dict[str, object], problem: str
) -> None:
    budget = budget_with(text_of(msgspec.structs.replace(VALID, **stated)))
    found = repair(budget, NOW, PRESENT)
    assert found.ledger == msgspec.structs.replace(ledger_of(budget), **expected)
    [said] = found.problems
    assert problem in said


def test_an_entry_of_disrupted_pods_that_is_yet_to_come_begins_now() -> None:
    stated = {"a-0": "2400-01-01T00:00:00Z", "a-1": timestamp(NOW - timedelta(seconds=5))}
    found = repair(budget_with(text_of(VALID), stated), NOW)
    assert found.disrupted == stated | {"a-0": timestamp(NOW)}
    assert "the eviction of pod a-0 began at" in found.problems[0]


def test_a_text_that_cannot_be_read_is_told() -> None:
    for text in ("{", "[]", '{"pods": 5}'):
        assert repair(budget_with(text), NOW).problems == ("it cannot be read",)


TIMES = st.sampled_from(["2400-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])


@given(
    text=damaged(text_of(VALID)),
    disrupted=st.dictionaries(
        st.sampled_from([*PODS, "gone"]), TIMES | st.just(timestamp(NOW)), max_size=3
    ),
)
def test_a_recount_of_any_ledger_ends_and_holds_no_longer_than_it_may(
    text: str, disrupted: dict[str, str]
) -> None:
    budget = budget_with(text, disrupted)
    found = repair(budget, NOW, PRESENT)
    assert is_current(found.ledger, PRESENT.version)
    assert overdue(found.disrupted, found.ledger, PODS.get, {}, NOW) is not None
    standing = look_again(found.disrupted, found.ledger, PODS.get, {}, NOW)
    counts = GroupCounts(read_settings(budget), KNOWN)
    for pod in PODS.values():
        counts.put(pod)
    result = recount(budget, found.ledger, counts, KNOWN, standing, NOW, lambda _: True)
    live = counts.without(())
    assert result.ledger.available <= live.available == 2
    assert 0 <= result.ledger.allowed <= max(0, live.available - result.ledger.desired)
    assert 0 <= result.status.disruptions_allowed <= len(PODS)
    limit = NOW + SKEW + max(ABSENT, DELETION_TIMEOUT)
    assert (next_check(result.status, result.ledger, NOW) or NOW) <= limit
    for at in (*result.status.disrupted_pods.values(), *result.ledger.absent.values()):
        assert parse_time(at) <= NOW + SKEW
    # What is written is sound.
    written = budget_with(annotations_of(result.ledger)[LEDGER], result.status.disrupted_pods)
    assert read_ledger(written) == result.ledger
    assert repair(written, NOW, PRESENT).problems == ()


@given(annotation=JUNK)
def test_any_annotation_can_be_read_or_not(annotation: object) -> None:
    text = str(annotation)
    budget = PodDisruptionBudget(metadata=PdbMeta(name="b", annotations={LEDGER: text}))
    assert repair(budget, NOW, PRESENT).ledger is not None
