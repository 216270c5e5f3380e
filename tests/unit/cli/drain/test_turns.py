"""Whose turn it is."""

from intact.cli.drain.turns import Turns


def test_all_nodes_at_once_unless_told_otherwise() -> None:
    turns = Turns(["a", "b", "c"])
    assert turns.advance(0)
    assert turns.active == ["a", "b", "c"]
    assert not turns.advance(0)


def test_a_node_begins_when_one_before_it_is_done() -> None:
    turns = Turns(["a", "b", "c"], parallel=2)
    turns.advance(0)
    assert turns.active == ["a", "b"]
    turns.finish("b")
    assert turns.advance(0)
    assert turns.active == ["a", "c"]
    turns.finish("a")
    turns.finish("c")
    assert not turns.advance(0)
    assert turns.is_over


def test_a_pause_begins_when_the_last_of_those_that_go_together_is_done() -> None:
    turns = Turns(["a", "b", "c"], parallel=2, pause=10)
    turns.advance(0)
    turns.finish("a")
    assert not turns.advance(1)
    turns.finish("b")
    assert turns.advance(2)
    assert (turns.resumes, turns.active) == (12, [])
    assert not turns.advance(11)
    assert turns.advance(12)
    assert (turns.resumes, turns.active) == (None, ["c"])
    turns.finish("c")
    assert not turns.advance(13)
    assert turns.is_over
