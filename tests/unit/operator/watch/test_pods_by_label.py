"""Pods by their labels, for the keys that are followed."""

import pytest

from intact.kube.store import Store
from intact.model.pod import Pod, PodMeta
from intact.operator.watch.pods_by_label import PodsByLabel

NAMESPACE = "ns"


@pytest.fixture
def store() -> Store[Pod]:
    return Store({"namespace": lambda pod: [pod.metadata.namespace]})


@pytest.fixture
def pods(store: Store[Pod]) -> PodsByLabel:
    return PodsByLabel(store)


def pod(name: str, namespace: str = NAMESPACE, **labels: str) -> Pod:
    return Pod(metadata=PodMeta(name=name, namespace=namespace, uid=name, labels=labels))


def names(
    pods: PodsByLabel, *values: str, key: str = "app", namespace: str = NAMESPACE
) -> list[str]:
    return [one.metadata.name for one in pods.having(namespace, key, values)]


def test_pods_that_were_there_before_are_found(store: Store[Pod], pods: PodsByLabel) -> None:
    for one in (pod("a", app="x"), pod("b", app="y"), pod("c"), pod("d", "other", app="x")):
        store.put(one)
    pods.follow(NAMESPACE, "app")
    assert names(pods, "x", "y", "z") == ["a", "b"]
    assert names(pods, "x") == ["a"]


def test_changes_of_labels_are_followed(store: Store[Pod], pods: PodsByLabel) -> None:
    pods.follow(NAMESPACE, "app")
    store.put(pod("a", app="x"))
    store.put(pod("b", app="x"))
    assert names(pods, "x") == ["a", "b"]
    store.put(pod("a", app="y"))
    store.put(pod("b"))
    assert (names(pods, "x"), names(pods, "y")) == ([], ["a"])
    store.remove((NAMESPACE, "a"))
    assert names(pods, "y") == []


def test_a_key_is_followed_until_its_last_user_leaves(store: Store[Pod], pods: PodsByLabel) -> None:
    store.put(pod("a", app="x"))
    pods.follow(NAMESPACE, "app")
    pods.follow(NAMESPACE, "app")
    pods.unfollow(NAMESPACE, "app")
    assert names(pods, "x") == ["a"]
    pods.unfollow(NAMESPACE, "app")
    with pytest.raises(KeyError):
        names(pods, "x")


def test_namespaces_and_keys_are_apart(store: Store[Pod], pods: PodsByLabel) -> None:
    pods.follow(NAMESPACE, "app")
    pods.follow(NAMESPACE, "tier")
    pods.follow("other", "app")
    store.put(pod("a", app="x", tier="x"))
    store.put(pod("b", "other", app="x"))
    assert names(pods, "x") == names(pods, "x", key="tier") == ["a"]
    assert names(pods, "x", namespace="other") == ["b"]
    pods.unfollow(NAMESPACE, "tier")
    assert names(pods, "x") == ["a"]
