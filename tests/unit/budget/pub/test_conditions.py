"""The conditions of a budget: they come, change with their time, and go."""

from datetime import UTC, datetime, timedelta

from intact.budget.enforcement import Enforcement
from intact.budget.pub import conditions
from intact.model.conditions import merge
from intact.model.meta import Condition, ObjectMeta
from intact.model.pub import PodUnavailableBudget, PubStatus, TargetReference

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
FOREIGN = Condition(type="Reviewed", status="True", last_transition_time="2020-01-01T00:00:00Z")


def test_working_says_whether_the_budget_holds_its_pods() -> None:
    held = conditions.working(True, "")
    assert (held.type, held.status) == ("Working", "True")
    not_yet = conditions.working(False, "")
    assert (not_yet.status, not_yet.reason) == ("False", "NotGated")
    assert "holds none" not in held.message
    audited = conditions.working(True, "", enforcement=Enforcement.AUDIT)
    assert audited.message.endswith("enforcement Audit, the budget tells of denials and holds none")
    unknown = conditions.working(True, "the scale cannot be read")
    assert (unknown.status, unknown.reason) == ("False", "TotalUnknown")
    assert unknown.message == "the scale cannot be read"


def test_working_says_why_a_budget_has_no_pods() -> None:
    target = TargetReference(api_version="apps/v1", kind="StatfulSet", name="web")
    for absence, status, message in (
        (conditions.no_pods("its selector"), "Unknown", "there are no pods of its selector: "),
        (conditions.kind_not_served(target), "False", "serves no StatfulSet in apps/v1"),
        (conditions.kind_not_readable(target, "forbidden"), "False", "in apps/v1: forbidden"),
        (conditions.workload_not_found(target), "False", "there is no StatfulSet web"),
    ):
        found = conditions.working(True, "", absence)
        assert (found.status, found.reason) == (status, absence.reason)
        assert message in found.message
        # What is surely wrong comes before what may only need a moment.
        found = conditions.working(False, "", absence)
        assert found.reason == (absence.reason if status == "False" else "NotGated")


def test_our_conditions_go_and_those_of_other_writers_stay() -> None:
    wanted = [conditions.working(True, ""), conditions.total_unknown("no scale")]
    first = merge([FOREIGN], wanted, 1, NOW, conditions.OURS)
    assert [one.type for one in first] == ["Reviewed", "Working", "TotalUnknown"]
    second = merge(first, wanted[:1], 2, LATER, conditions.OURS)
    assert [one.type for one in second] == ["Reviewed", "Working"]
    assert second[0] == FOREIGN


def test_the_transition_time_moves_with_the_status_alone() -> None:
    first = merge([], [conditions.working(False, "")], 1, NOW, conditions.OURS)
    assert first[0].last_transition_time == "2026-01-01T00:00:00Z"
    other_reason = merge(first, [conditions.working(False, "no scale")], 2, LATER, conditions.OURS)
    assert other_reason[0].reason == "TotalUnknown"
    assert other_reason[0].observed_generation == 2
    assert other_reason[0].last_transition_time == "2026-01-01T00:00:00Z"
    other_status = merge(other_reason, [conditions.working(True, "")], 2, LATER, conditions.OURS)
    assert other_status[0].last_transition_time == "2026-01-01T00:01:00Z"


def test_messages_name_what_to_look_at() -> None:
    few = conditions.group_labels_missing(["a", "b"], "shard")
    assert few.message == "each pod without the label shard counts as a unit of its own: a, b"
    many = conditions.group_labels_missing([f"p{number}" for number in range(8)], "shard")
    assert many.message.endswith("p0, p1, p2, p3, p4 and 3 more")
    small = conditions.min_ready_unreachable(5, 4)
    assert small.message == (
        "minReadyReplicas is 5, but no group has more than 4 pods: no group can be available, so "
        "the budget holds its pods one by one"
    )
    some = conditions.some_groups_too_small(5, ["a", "b"])
    assert (some.type, some.reason) == (small.type, "SomeGroupsTooSmall")
    assert some.message.endswith("their pods are free to go: a, b")
    assert "one by one" in conditions.working(True, "", one_by_one=True).message
    assert "one by one" not in conditions.working(True, "").message


def stored(*found: Condition, seen: int = 2) -> PodUnavailableBudget:
    return PodUnavailableBudget(
        metadata=ObjectMeta(name="b", namespace="ns", generation=2),
        status=PubStatus(observed_generation=seen, conditions=list(found)),
    )


def test_a_stored_budget_says_whether_it_works() -> None:
    held = conditions.working(True, "")
    assert conditions.is_working(stored(held)) is True
    assert conditions.is_working(stored(held, seen=1)) is False, "an older spec was counted"
    assert conditions.is_working(stored()) is False
    assert conditions.is_working(stored(conditions.working(False, ""))) is False
    nothing = conditions.working(True, "", conditions.no_pods("its selector"))
    assert conditions.is_working(stored(nothing)) is None


def test_a_stored_budget_says_whether_it_can_ever_allow() -> None:
    assert conditions.told_never_allows(stored(conditions.never_allows("all must stay")))
    assert not conditions.told_never_allows(stored(conditions.working(True, "")))
