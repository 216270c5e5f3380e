"""Counts of selected pods follow every pod that comes and goes."""

from hypothesis import given
from hypothesis import strategies as st

from intact.sandbox.scheduler.pods import PodInfo, chosen
from intact.sandbox.scheduler.selected import SelectedPods
from tests.support.scheduling import info

NS = frozenset({"ns"})
A = chosen({"matchLabels": {"app": "a"}})
SELECTORS = [
    A,
    chosen({}),
    chosen(None),
    chosen({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}),
    chosen({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}),
]


def test_counts_are_by_node_and_without_zeros() -> None:
    pods = SelectedPods()
    one, two = info("one", labels={"app": "a"}), info("two", labels={"app": "a"})
    pods.add(one, "x")
    counts = pods.counts(NS, A)
    assert counts == {"x": 1}
    pods.add(two, "y")
    pods.add(info("other", labels={"app": "b"}), "y")
    pods.add(info("elsewhere", labels={"app": "a"}, namespace="b"), "y")
    assert counts == {"x": 1, "y": 1}
    pods.remove(one, "x")
    assert counts == {"y": 1}


def test_terminating_pods_are_counted_or_not() -> None:
    pods = SelectedPods()
    pods.add(info("p", labels={"app": "a"}, terminating=True), "x")
    assert pods.counts(NS, A) == {"x": 1}
    assert pods.counts(NS, A, terminating=False) == {}


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("xy"), st.sampled_from("abc"), st.booleans())
    ),
    st.integers(0, 20),
)
def test_counts_kept_are_counts_made_anew(
    changes: list[tuple[int, str, str, bool]], asked_at: int
) -> None:
    kept = SelectedPods()
    placed: dict[int, tuple[PodInfo, str]] = {}
    for step, (number, node, app, terminating) in enumerate(changes):
        if step == asked_at:
            for selector in SELECTORS:
                kept.counts(NS, selector, terminating=terminating)
        if number in placed:
            kept.remove(*placed.pop(number))
        else:
            pod = info(f"p{number}", labels={"app": app}, terminating=terminating)
            placed[number] = pod, node
            kept.add(pod, node)
    anew = SelectedPods()
    for pod, node in placed.values():
        anew.add(pod, node)
    for selector in SELECTORS:
        for terminating in (True, False):
            expected = anew.counts(NS, selector, terminating=terminating)
            assert kept.counts(NS, selector, terminating=terminating) == expected
