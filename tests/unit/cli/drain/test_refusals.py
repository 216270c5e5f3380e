"""When what was refused is asked for again."""

import math

from intact.cli.drain.plan import Mark
from intact.cli.drain.refusals import Refusal, Refusals
from intact.cli.drain.units import DrainUnit, key_of
from tests.unit.cli.drain.objects import pod, pub, units


def group(version: str = "1") -> DrainUnit:
    pods = [pod("a-0", "a", resourceVersion=version), pod("a-1", "a")]
    return units(pods, pub())["a"]


def refuse(refusals: Refusals, unit: DrainUnit, **when: float) -> None:
    refusal = Refusal(refusals.known(unit), "no", 1.0, changes=dict(refusals.changes), **when)  # type: ignore[arg-type]
    refusals.refuse(unit, refusal, map(key_of, unit.budgets), free=False)


def test_nothing_is_asked_for_again_until_a_budget_or_a_pod_changes() -> None:
    refusals, unit = Refusals(), group()
    assert refusals.may_ask(unit, 0)
    refuse(refusals, unit)
    assert not refusals.may_ask(unit, 1e9)
    assert refusals.may_ask(group(version="2"), 2)
    refusals.changes[key_of(unit.budgets[0])] += 1
    assert refusals.may_ask(unit, 2)


def test_a_change_while_the_question_is_asked_counts() -> None:
    refusals, unit = Refusals(), group()
    known, key = refusals.known(unit), key_of(unit.budgets[0])
    refusals.changes[key] += 1
    refusals.refuse(unit, Refusal(known, "no", 1.0), [key], free=False)
    assert refusals.may_ask(unit, 2)
    assert refusals.mark(key, False) is Mark.CHANGED


def test_a_mark_stands_for_its_class_until_something_changes_or_is_granted() -> None:
    refusals, unit = Refusals(), group()
    key = key_of(unit.budgets[0])
    assert refusals.mark(key, False) is Mark.NONE
    refuse(refusals, unit)
    assert (refusals.mark(key, False), refusals.mark(key, True)) == (Mark.STANDS, Mark.NONE)
    refusals.changes[key] += 1
    assert refusals.mark(key, False) is Mark.CHANGED
    refusals.grant(unit, free=False)
    assert refusals.mark(key, False) is Mark.NONE
    assert refusals.may_ask(unit, 0)


def test_a_server_that_says_when_is_asked_then_and_holds_nothing_else() -> None:
    refusals, unit = Refusals(), group()
    refuse(refusals, unit, not_before=5, at_latest=5)
    refusals.changes[key_of(unit.budgets[0])] += 1
    assert not refusals.may_ask(unit, 4)
    assert refusals.may_ask(unit, 5)
    assert refusals.mark(key_of(unit.budgets[0]), False) is Mark.NONE
    assert refusals.next_time([unit.key], 1) == 5
    assert refusals.next_time([unit.key], 5) == math.inf
