"""What a drain did to each pod: the last answer, and how often it asked."""

from intact.sandbox.kubectl_drain import Step, What
from intact.sandbox.rehearsal.steps import Steps


def done(steps: Steps, *whats: What, name: str = "web-0", uid: str = "u") -> None:
    step = steps.of_node("node-0")
    for what in whats:
        why = "not now" if what is What.REFUSED else ""
        step(Step(what, "default", name, uid, why))


def test_a_pod_that_goes_is_not_stuck() -> None:
    steps = Steps()
    done(steps, What.EVICTING, What.REFUSED, What.EVICTING, What.EVICTED, What.GONE)
    assert steps.stuck(lambda *_: True) == []
    assert steps.attempts("u") == 2


def test_a_pod_that_is_refused_is_stuck_with_the_last_answer() -> None:
    steps = Steps()
    done(steps, What.EVICTING, What.REFUSED, What.EVICTING)
    [stuck] = steps.stuck(lambda *_: True)
    assert (stuck.what, stuck.why, stuck.attempts, stuck.node) == (
        What.REFUSED, "not now", 2, "node-0")  # fmt: skip


def test_a_pod_that_was_let_go_is_stuck_only_while_it_is_there() -> None:
    steps = Steps()
    done(steps, What.EVICTING, What.EVICTED)
    assert steps.stuck(lambda *_: False) == []
    assert len(steps.stuck(lambda *_: True)) == 1


def test_attempts_belong_to_the_pod_that_was_there() -> None:
    steps = Steps()
    done(steps, What.EVICTING, What.REFUSED, uid="old")
    done(steps, What.EVICTING, What.EVICTED, uid="new")
    assert (steps.attempts("old"), steps.attempts("new"), steps.attempts("no")) == (1, 1, 0)
    assert [each.uid for each in steps.on("node-0")] == ["new"]
    assert steps.on("node-1") == []


def test_refusals_are_told_as_they_happen() -> None:
    steps = Steps()
    told: list[tuple[str, str, str]] = []
    steps.on_refused = lambda node, step: told.append((node, step.name, step.why))
    done(steps, What.EVICTING, What.REFUSED, What.EVICTING, What.EVICTED, What.GONE)
    assert told == [("node-0", "web-0", "not now")]
