"""Which namespaces are selected."""

from intact.budget.selector_text import parse_selector
from intact.kube.store import Store
from intact.model.meta import LabelSelector, ObjectMeta
from intact.model.places import Namespace
from intact.operator.watch.selection import EVERYWHERE, Selection, requirements


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def selection(selector: LabelSelector, *namespaces: Namespace) -> Selection:
    store: Store[Namespace] = Store()
    store.replace({("", each.metadata.name): each for each in namespaces})
    return Selection(selector, store)


def test_without_a_selector_every_namespace_is_selected() -> None:
    assert selection(EVERYWHERE, namespace("a")).has("a")
    assert requirements(EVERYWHERE) == []


def test_labels_select() -> None:
    found = selection(parse_selector("env=prod"), namespace("a", env="prod"), namespace("b"))
    assert found.has("a")
    assert not found.has("b")


def test_a_namespace_that_has_not_been_seen_counts_as_selected() -> None:
    assert selection(parse_selector("env=prod")).has("new")


def test_requirements_are_those_of_a_registration() -> None:
    assert requirements(parse_selector("env=prod,!old")) == [
        {"key": "env", "operator": "In", "values": ["prod"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
