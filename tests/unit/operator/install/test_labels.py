"""The labels of what an installation consists of."""

from typing import Any

from intact import __version__
from intact.operator.install.labels import labelled, labels_of
from intact.operator.names import LABELS


def test_labels_say_what_it_is_and_of_which_version() -> None:
    found = labels_of("operator", {"team": "infra"})
    assert found.items() >= LABELS.items()
    assert found["app.kubernetes.io/version"] == __version__
    assert found["team"] == "infra"


def test_labels_of_intact_are_not_overridden() -> None:
    assert labels_of("operator", {"app.kubernetes.io/name": "other"}).items() >= LABELS.items()


def test_an_object_keeps_its_own_labels() -> None:
    body: dict[str, Any] = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a", "labels": {"b": "c"}},
    }
    found = labelled(body, {})["metadata"]["labels"]
    assert found["b"] == "c"
    assert found["app.kubernetes.io/component"] == "definitions"
    assert body["metadata"]["labels"] == {"b": "c"}
