"""The store: content, indexes and what handlers are told."""

import logging
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.kube.store import Key, Store, key_of
from intact.model.pod import Pod, PodMeta, PodSpec

Change = tuple[Pod | None, Pod | None]
INDEXES: Mapping[str, Callable[[Pod], list[str]]] = {
    "node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else [],
    "label": lambda pod: list(pod.metadata.labels.values()),
}


def pod(
    name: str = "p",
    *,
    uid: str = "",
    version: int = 1,
    node: str = "",
    labels: dict[str, str] | None = None,
) -> Pod:
    meta = PodMeta(
        name=name,
        namespace="ns",
        uid=uid or f"uid of {name}",
        resource_version=str(version),
        labels=labels or {},
    )
    return Pod(metadata=meta, spec=PodSpec(node_name=node))


def listed(*pods: Pod) -> dict[Key, Pod]:
    return {key_of(each): each for each in pods}


def recorded(store: Store[Pod]) -> list[Change]:
    changes: list[Change] = []
    store.subscribe(lambda old, new: changes.append((old, new)))
    return changes


@pytest.fixture
def store() -> Store[Pod]:
    return Store(INDEXES)


class TestContent:
    def test_what_was_put_is_there(self, store: Store[Pod]) -> None:
        a, b = pod("a"), pod("b")
        store.put(a)
        store.put(b)
        assert list(store) == [a, b]
        assert len(store) == 2
        assert store.get("ns", "a") is a
        assert ("ns", "a") in store

    def test_what_was_removed_is_not_there(self, store: Store[Pod]) -> None:
        store.put(pod("a"))
        store.remove(("ns", "a"))
        assert list(store) == []
        assert store.get("ns", "a") is None
        assert ("ns", "a") not in store

    def test_the_same_name_in_another_namespace_is_another_object(self, store: Store[Pod]) -> None:
        store.put(pod("a"))
        assert store.get("other", "a") is None

    def test_it_is_synced_once_it_held_a_full_list(self, store: Store[Pod]) -> None:
        store.put(pod("a"))
        assert not store.synced
        store.replace({})
        assert store.synced


class TestIndexes:
    def test_a_look_up(self, store: Store[Pod]) -> None:
        a, b, c = pod("a", node="n1"), pod("b", node="n2"), pod("c", node="n1")
        for each in (a, b, c):
            store.put(each)
        assert store.by_index("node", "n1") == [a, c]
        assert store.count("node", "n1") == 2
        assert set(store.index_values("node")) == {"n1", "n2"}

    def test_a_value_that_nothing_has(self, store: Store[Pod]) -> None:
        assert store.by_index("node", "n1") == []
        assert store.count("node", "n1") == 0

    def test_an_index_that_was_not_declared(self, store: Store[Pod]) -> None:
        with pytest.raises(KeyError, match="owner"):
            store.by_index("owner", "x")

    def test_a_change_moves_an_object(self, store: Store[Pod]) -> None:
        store.put(pod("a"))
        store.put(pod("a", version=2, node="n1"))
        assert store.count("node", "n1") == 1
        moved = pod("a", version=3, node="n2")
        store.put(moved)
        assert store.by_index("node", "n2") == [moved]
        assert set(store.index_values("node")) == {"n2"}

    def test_an_object_may_stand_under_several_values(self, store: Store[Pod]) -> None:
        store.put(pod("a", labels={"x": "1", "y": "2", "z": "1"}))
        assert (store.count("label", "1"), store.count("label", "2")) == (1, 1)
        store.put(pod("a", version=2, labels={"x": "2"}))
        assert set(store.index_values("label")) == {"2"}


class TestHandlers:
    def test_additions_changes_and_deletions(self, store: Store[Pod]) -> None:
        changes = recorded(store)
        one, two = pod("a", version=1), pod("a", version=2)
        store.put(one)
        store.put(two)
        store.remove(("ns", "a"))
        assert changes == [(None, one), (one, two), (two, None)]

    def test_removing_what_is_not_there_is_no_change(self, store: Store[Pod]) -> None:
        changes = recorded(store)
        store.remove(("ns", "a"))
        assert changes == []

    def test_another_uid_is_a_deletion_and_then_an_addition(self, store: Store[Pod]) -> None:
        changes = recorded(store)
        first, second = pod("a", uid="1", node="n1"), pod("a", uid="2", node="n1")
        store.put(first)
        store.put(second)
        assert changes == [(None, first), (first, None), (None, second)]
        assert store.by_index("node", "n1") == [second]

    def test_a_full_list_becomes_the_changes_that_led_to_it(self, store: Store[Pod]) -> None:
        gone, changed, kept, reborn = (pod(name) for name in ("gone", "changed", "kept", "reborn"))
        store.replace(listed(gone, changed, kept, reborn))
        changes = recorded(store)
        changes.clear()
        newer, other, new = pod("changed", version=2), pod("reborn", uid="other"), pod("new")
        store.replace(listed(newer, kept, other, new))
        assert changes == [
            (gone, None),
            (changed, newer),
            (reborn, None),
            (None, other),
            (None, new),
        ]

    @pytest.mark.parametrize("told", [True, False], ids=["told", "seen in one object"])
    def test_a_list_of_another_history_is_all_deletions_and_then_additions(
        self, store: Store[Pod], told: bool
    ) -> None:
        a, b = pod("a", version=7), pod("b", version=8)
        store.replace(listed(a, b))
        changes = recorded(store)
        changes.clear()
        older = pod("b", version=9 if told else 3)
        store.replace(listed(a, older), anew=told)
        assert changes == [(a, None), (b, None), (None, a), (None, older)]
        assert list(store) == [a, older]

    def test_handlers_see_the_store_as_it_is_after_the_change(self, store: Store[Pod]) -> None:
        seen: list[tuple[int, int]] = []
        store.subscribe(lambda _old, _new: seen.append((len(store), store.count("node", "n1"))))
        store.put(pod("a", node="n1"))
        store.remove(("ns", "a"))
        assert seen == [(1, 1), (0, 0)]

    def test_a_subscription_begins_with_all_that_is_there(self, store: Store[Pod]) -> None:
        a, b = pod("a"), pod("b")
        store.replace(listed(a, b))
        assert recorded(store) == [(None, a), (None, b)]

    def test_a_handler_that_raises_does_not_stop_the_others(
        self, store: Store[Pod], caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_old: Pod | None, _new: Pod | None) -> None:
            raise KeyError("bug")

        store.subscribe(fail)
        changes = recorded(store)
        a = pod("a")
        store.put(a)
        store.remove(key_of(a))
        assert changes == [(None, a), (a, None)]
        messages = [(each.levelno, each.getMessage()) for each in caplog.records]
        assert messages == [(logging.ERROR, "a handler failed on ('ns', 'a')")] * 2

    def test_a_handler_that_another_subscribes_sees_each_change_once(
        self, store: Store[Pod]
    ) -> None:
        changes: list[Change] = []

        def subscribe_once(_old: Pod | None, new: Pod | None) -> None:
            if new is not None and new.metadata.name == "a":
                store.subscribe(lambda old, new: changes.append((old, new)))

        store.subscribe(subscribe_once)
        a, b = pod("a"), pod("b")
        store.put(a)
        store.put(b)
        assert changes == [(None, a), (None, b)]


PODS = st.builds(
    pod,
    st.sampled_from("abcd"),
    uid=st.sampled_from(["1", "2"]),
    version=st.integers(1, 4),
    node=st.sampled_from(["", "n1", "n2"]),
    labels=st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2"])),
)
STEPS = st.lists(
    st.one_of(
        PODS,
        st.sampled_from("abcd").map(lambda name: ("ns", name)),
        st.lists(PODS).map(lambda pods: listed(*pods)),
    )
)


@given(steps=STEPS)
def test_whatever_happens_indexes_and_handlers_agree_with_the_content(
    steps: list[Pod | Key | dict[Key, Pod]],
) -> None:
    store = Store(INDEXES)
    replayed: dict[Key, Pod] = {}

    def replay(old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            assert replayed.pop(key_of(old)) == old
        if new is not None:
            assert key_of(new) not in replayed
            assert old is None or old.metadata.uid == new.metadata.uid
            replayed[key_of(new)] = new

    expected: dict[Key, Pod] = {}
    failures: list[object] = []

    def watched(old: Pod | None, new: Pod | None) -> None:
        try:
            replay(old, new)
        except (AssertionError, KeyError) as error:
            failures.append((old, new, error))

    store.subscribe(watched)
    for step in steps:
        if isinstance(step, Pod):
            store.put(step)
            expected[key_of(step)] = step
        elif isinstance(step, tuple):
            store.remove(step)
            expected.pop(step, None)
        else:
            store.replace(step)
            unchanged = {
                key: old
                for key, old in expected.items()
                if key in step and versions(old) == versions(step[key])
            }
            went_back = any(
                expected[key].metadata.uid == new.metadata.uid and versions(new) < versions(old)
                for key, new in step.items()
                if (old := expected.get(key)) is not None
            )
            expected = step if went_back else step | unchanged
        assert failures == []
        assert {key_of(each): each for each in store} == expected == replayed
        for name, function in INDEXES.items():
            values = {value for each in store for value in function(each)}
            assert set(store.index_values(name)) == values
            for value in values:
                found = {key_of(each): each for each in store.by_index(name, value)}
                assert found == {k: v for k, v in expected.items() if value in function(v)}
                assert store.count(name, value) == len(found)


def versions(obj: Pod) -> tuple[str, str]:
    return obj.metadata.uid, obj.metadata.resource_version
