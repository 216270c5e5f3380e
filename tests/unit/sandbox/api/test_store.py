"""The storage: revisions, order, and the past."""

import pytest

from intact.sandbox.api.builtin import NAMESPACES, PODS
from intact.sandbox.api.objects import Json
from intact.sandbox.api.store import Change, Restored, Store, Stored


def pod(namespace: str, name: str, value: int = 0) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"value": value},
    }


def put(store: Store, namespace: str, name: str, value: int = 0) -> Stored:
    key = PODS.key(namespace, name)
    current = store.get(PODS, key)
    if current is None:
        return store.create(PODS, key, pod(namespace, name, value))
    return store.replace(PODS, current, pod(namespace, name, value))


def take(store: Store, namespace: str, name: str) -> Stored:
    current = store.get(PODS, PODS.key(namespace, name))
    assert current is not None
    return store.remove(PODS, current)


def keys(found: list[Stored]) -> list[str]:
    return [stored.key for stored in found]


def test_each_write_has_the_next_revision() -> None:
    store = Store()
    start = store.revision
    written = [put(store, "n", "a"), put(store, "n", "b"), put(store, "n", "a", 1)]
    assert [stored.revision for stored in written] == [start + 1, start + 2, start + 3]
    assert written[2].obj["metadata"]["resourceVersion"] == str(start + 3)


def test_a_removal_has_a_revision_of_its_own() -> None:
    store = Store()
    put(store, "n", "a")
    gone = take(store, "n", "a")
    assert gone.obj["metadata"]["resourceVersion"] == str(store.revision)
    assert store.get(PODS, "n/a") is None


def test_nothing_is_created_twice() -> None:
    store = Store()
    put(store, "n", "a")
    with pytest.raises(KeyError):
        store.create(PODS, "n/a", pod("n", "a"))


def test_an_old_version_is_not_replaced() -> None:
    store = Store()
    old = put(store, "n", "a")
    put(store, "n", "a", 1)
    with pytest.raises(AssertionError, match="old version"):
        store.replace(PODS, old, pod("n", "a", 2))


def test_lists_are_in_the_order_of_their_keys() -> None:
    store = Store()
    for namespace, name in (("b", "x"), ("a", "y"), ("a-b", "x"), ("a", "x")):
        put(store, namespace, name)
    assert keys(list(store.listed(PODS))) == ["a-b/x", "a/x", "a/y", "b/x"]
    assert keys(list(store.listed(PODS, "a"))) == ["a/x", "a/y"]


def test_the_past_can_be_listed() -> None:
    store = Store()
    put(store, "n", "a", 1)
    put(store, "n", "b", 1)
    put(store, "m", "a", 1)
    then = store.revision
    put(store, "n", "a", 2)
    take(store, "n", "b")
    put(store, "n", "c", 2)
    found = store.list_at(PODS, then, "n")
    assert [(stored.key, stored.obj["spec"]["value"]) for stored in found] == [
        ("n/a", 1),
        ("n/b", 1),
    ]


def test_the_history_has_an_end() -> None:
    store = Store(history=2)
    revisions = [put(store, "n", "a", value).revision for value in range(4)]
    assert store.oldest(PODS) == revisions[1]
    assert [change.revision for change in store.changes_since(PODS, revisions[1])] == revisions[2:]


def test_compaction_leaves_only_the_present() -> None:
    store = Store()
    put(store, "n", "a")
    store.compact()
    assert store.oldest(PODS) == store.oldest(NAMESPACES) == store.revision


class Collector:
    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def offer(self, change: Change) -> None:
        event = "DELETED" if change.new is None else "MODIFIED" if change.old else "ADDED"
        self.lines.append(change.line(event, "v1"))


def test_subscribers_get_each_change_once_encoded() -> None:
    store = Store()
    first, second = Collector(), Collector()
    stop = store.subscribe(PODS, first)
    store.subscribe(PODS, second)
    put(store, "n", "a")
    put(store, "n", "a", 1)
    take(store, "n", "a")
    assert [line[:16] for line in first.lines] == [
        b'{"type":"ADDED",',
        b'{"type":"MODIFIE',
        b'{"type":"DELETED',
    ]
    assert all(one is other for one, other in zip(first.lines, second.lines, strict=True))
    assert f'"resourceVersion":"{store.revision}"'.encode() in first.lines[2]
    stop()
    put(store, "n", "b")
    assert (len(first.lines), len(second.lines)) == (3, 4)


def test_the_population_of_namespaces() -> None:
    store = Store()
    emptied: list[str] = []
    store.after_removal = emptied.append
    put(store, "n", "a")
    put(store, "n", "b")
    take(store, "n", "a")
    assert (store.population("n"), store.population("m"), emptied) == (1, 0, ["n"])


def test_a_restore_goes_back_in_objects_and_revisions() -> None:
    store = Store()
    put(store, "n", "a")
    put(store, "n", "b")
    before = store.snapshot()
    put(store, "n", "a", 1)
    take(store, "n", "b")
    put(store, "m", "c")
    store.restore(before)
    assert keys(list(store.listed(PODS))) == ["n/a", "n/b"]
    assert [stored.obj["spec"]["value"] for stored in store.listed(PODS)] == [0, 0]
    assert (store.population("n"), store.population("m")) == (2, 0)
    assert store.oldest(PODS) == before.revision
    assert put(store, "n", "d").revision == before.revision + 1
    assert [change.revision for change in store.changes_since(PODS, 0)] == [before.revision + 1]


def test_a_request_writes_nothing_after_a_restore() -> None:
    store = Store()
    put(store, "n", "a")
    before = store.snapshot()
    with store.request():
        put(store, "n", "a", 1)
        store.restore(before)
        with pytest.raises(Restored):
            put(store, "n", "a", 2)
        with pytest.raises(Restored):
            take(store, "n", "a")
        with store.request():
            put(store, "n", "a", 3)
    assert keys(list(store.listed(PODS))) == ["n/a"]
    assert store.revision == before.revision + 1


def test_an_observer_sees_the_changes_of_all_kinds_until_it_ends() -> None:
    store = Store()
    seen: list[tuple[str, bool, bool]] = []
    end = store.observe(
        lambda kind, change: seen.append(
            (kind.full_name, change.old is not None, change.new is not None)
        )
    )
    made = store.create(PODS, "n/p", {"metadata": {"name": "p", "namespace": "n"}})
    changed = store.replace(PODS, made, {"metadata": {"name": "p", "namespace": "n"}})
    store.create(NAMESPACES, "m", {"metadata": {"name": "m"}})
    store.remove(PODS, changed)
    end()
    store.create(NAMESPACES, "o", {"metadata": {"name": "o"}})
    assert seen == [
        ("pods", False, True),
        ("pods", True, True),
        ("namespaces", False, True),
        ("pods", True, False),
    ]
