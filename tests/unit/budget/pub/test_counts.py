"""Live counts: after any course of events the same as counting from scratch."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pub.counts import Counts, Member

Members = dict[str, Member]


class Scratch:
    """Counted from scratch."""

    def __init__(self, need: int | None, members: Members, ledger: set[str]) -> None:
        self.need = need
        self.members = members
        serving = {uid for uid, one in members.items() if one.available and uid not in ledger}
        self.serving = serving
        grouped = {} if need is None else {uid: one.group for uid, one in members.items()}
        self.single = [uid for uid in members if grouped.get(uid) is None]
        self.sizes = Counter(group for group in grouped.values() if group is not None)
        self.present = Counter(
            group for uid, group in grouped.items() if group is not None and members[uid].present
        )
        ready = Counter(grouped[uid] for uid in serving if grouped.get(uid) is not None)
        self.needs = {
            group: max(
                (one.need for one in members.values() if one.group == group and one.need),
                default=need or 0,
            )
            for group in self.sizes
        }
        self.down = {group for group in self.sizes if ready[group] < self.needs[group]}
        self.surplus = {
            group: ready[group] - self.needs[group]
            for group in self.sizes
            if ready[group] > self.needs[group]
        }
        self.available = len(self.sizes) - len(self.down) + len(serving & set(self.single))
        self.units = len(self.sizes) + len(self.single)

    @property
    def owners(self) -> dict[str, int]:
        present = Counter(one.owner for one in self.members.values() if one.present)
        return {one.owner: present[one.owner] for one in self.members.values()}


UIDS = [f"uid-{number}" for number in range(8)]
MEMBERS = st.builds(
    lambda owner, state, group, need: Member(
        owner=owner, available=state == 2, present=state > 0, group=group, need=need
    ),
    st.sampled_from(["", "rs-1", "rs-2"]),
    st.integers(0, 2),
    st.sampled_from([None, "g0", "g1", "g2"]),
    st.none() | st.integers(1, 3),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(UIDS), MEMBERS),
        st.tuples(st.sampled_from(UIDS), st.none()),
        st.tuples(st.just(""), st.sets(st.sampled_from(UIDS))),
    ),
    max_size=40,
)
NEEDS = st.none() | st.integers(1, 3)
Step = tuple[str, Member | set[str] | None]


def after(need: int | None, steps: list[Step]) -> tuple[Counts, Members, set[str]]:
    counts, members, ledger = Counts(need), Members(), set[str]()
    for uid, what in steps:
        match what:
            case Member():
                counts.put(uid, what)
                members[uid] = what
            case None:
                counts.remove(uid)
                members.pop(uid, None)
            case _:
                counts.set_ledger(what)
                ledger = what
    return counts, members, ledger


@given(need=NEEDS, steps=STEPS)
def test_after_any_changes_the_counts_are_as_from_scratch(
    need: int | None, steps: list[Step]
) -> None:
    counts, members, ledger = after(need, steps)
    scratch = Scratch(need, members, ledger)
    assert counts.available == scratch.available
    assert counts.units == scratch.units
    assert set(counts.unavailable_groups) == scratch.down
    assert counts.surplus == scratch.surplus
    assert set(counts.groups) == set(scratch.sizes)
    assert counts.largest_group == max(scratch.present.values(), default=0)
    small = {group for group in scratch.down if scratch.present[group] < scratch.needs[group]}
    assert set(counts.small_groups()) == small
    assert counts.largest_need == max(scratch.needs.values(), default=need or 0)
    assert counts.has_whole_group is any(
        scratch.present[group] >= scratch.needs[group] for group in scratch.sizes
    )
    assert counts.available_pods == len(scratch.serving)
    assert counts.owners == scratch.owners
    assert counts.pods_by_owner() == Counter(one.owner for one in members.values())
    assert counts.pods == len(members)
    assert counts.single_present == sum(members[uid].present for uid in scratch.single)
    assert counts.ledger == ledger
    for owner in ("", "rs-1", "rs-2"):
        expected = {uid for uid, one in members.items() if one.owner == owner}
        assert set(counts.uids_of(owner)) == expected


@given(need=NEEDS, steps=STEPS, more=st.sets(st.sampled_from(UIDS)))
def test_without_some_pods_it_is_as_if_they_were_recorded(
    need: int | None, steps: list[Step], more: set[str]
) -> None:
    counts, members, ledger = after(need, steps)
    expected = Scratch(need, members, ledger | more).available
    assert counts.available_without(more) == expected
    in_pods = len(Scratch(need, members, ledger | more).serving)
    assert counts.available_without(more, in_groups=False) == in_pods
    counts.set_ledger(ledger | more)
    assert counts.available == expected


def test_an_unchanged_pod_is_no_change() -> None:
    counts = Counts(None)
    assert counts.put("a", Member(owner="", available=True))
    assert not counts.put("a", Member(owner="", available=True))
    assert counts.put("a", Member(owner="", available=False))


GROUPS = {
    "enough are ready": (2, [True, True], True, 0),
    "one too few": (2, [True, False], False, 0),
    "more than needed": (2, [True, True, True], True, 1),
    "by default one is enough": (1, [False, True], True, 0),
    "none is ready": (1, [False, False], False, 0),
    "smaller than its need": (4, [True, True], False, 0),
}


@pytest.mark.parametrize(("need", "pods", "available", "surplus"), GROUPS.values(), ids=GROUPS)
def test_a_group_is_available_with_as_many_pods_as_it_needs(
    need: int, pods: list[bool], available: bool, surplus: int
) -> None:
    counts = Counts(need)
    for number, ready in enumerate(pods):
        counts.put(f"uid-{number}", Member(owner="", available=ready, group="g"))
    assert counts.units == 1
    assert counts.available == int(available)
    assert counts.surplus == ({"g": surplus} if surplus else {})


def test_a_pod_without_the_label_is_a_unit_beside_the_groups() -> None:
    counts = Counts(2)
    for number in range(2):
        counts.put(f"uid-{number}", Member(owner="", available=True, group="g"))
    counts.put("alone", Member(owner="", available=True))
    assert (counts.units, counts.available, counts.single_present) == (2, 2, 1)
    counts.set_ledger(["uid-0"])
    assert (counts.units, counts.available) == (2, 1)


def test_pods_that_their_owners_want_no_more_are_idle_and_not_available() -> None:
    counts = Counts(None)
    counts.put("a", Member("x", available=True))
    counts.put("b", Member("y", available=False, idle=True))
    counts.put("c", Member("y", available=False, idle=True))
    assert (counts.available, counts.idle, counts.idle_pods) == (1, 2, 2)
    counts.set_ledger(["b"])
    assert (counts.available, counts.idle) == (1, 1)
    counts.remove("c")
    assert counts.idle == 0


def test_a_group_is_idle_if_only_pods_that_are_not_wanted_make_it_whole() -> None:
    counts = Counts(2)
    counts.put("a", Member("x", available=True, group="g"))
    counts.put("b", Member("y", available=False, group="g", idle=True))
    assert (counts.available, counts.idle, counts.idle_pods) == (0, 1, 1)
    counts.put("c", Member("x", available=True, group="g"))
    assert (counts.available, counts.idle) == (1, 0)
    for uid in "abc":
        counts.remove(uid)
    assert (counts.units, counts.idle) == (0, 0)
