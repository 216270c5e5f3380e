"""What can be set of an installation."""

from typing import Any

import pytest

from intact.operator.install.settings import (
    BadSetting,
    Settings,
    defaults,
    leaves,
    read_settings,
    schema,
)
from intact.operator.names import CONTROLLERS


def test_nothing_gives_the_defaults() -> None:
    assert read_settings({}) == read_settings(defaults()) == Settings()


def test_every_setting_has_a_description_and_a_default() -> None:
    for path, node in leaves():
        assert node["description"].endswith("."), path
        assert "default" in node, path


def test_the_schema_has_no_references_and_refuses_other_names() -> None:
    text = repr(schema())
    assert "$ref" not in text
    assert schema()["additionalProperties"] is False


def test_all_controllers_can_be_chosen() -> None:
    assert schema()["properties"]["controllers"]["items"]["enum"] == sorted(CONTROLLERS)


def test_what_is_null_is_empty_where_it_can_be() -> None:
    given = {"resources": None, "labels": None, "image": None, "tolerations": None}
    found = read_settings(given)
    assert found.resources.limits.memory == found.resources.requests.cpu == ""
    assert (found.labels, found.image, found.tolerations) == ({}, "", ())


@pytest.mark.parametrize(
    ("given", "text"), [(1, "1"), (1.0, "1"), (0.25, "0.25"), ("1", "1"), (None, "")]
)
def test_an_amount_may_be_a_number(given: object, text: str) -> None:
    assert read_settings({"resources": {"limits": {"cpu": given}}}).resources.limits.cpu == text


@pytest.mark.parametrize(
    ("given", "path", "problem"),
    [
        ({"replicas": 0}, "replicas", "0 is not a number from 1 to 100"),
        ({"replicas": None}, "replicas", "None is not a number from 1 to 100"),
        ({"webhook": None}, "webhook", "Expected `object`, got `null`"),
        ({"replicas": "x"}, "replicas", "'x' is not a number from 1 to 100"),
        ({"controllers": []}, "controllers", "is empty"),
        ({"controllers": ["a"]}, "controllers", "'a' is not one of disruption, pdb, pub, rbg"),
        ({"controllers": ["pub", "pub"]}, "controllers", "pub, pub has one of them twice"),
        (
            {"resources": {"limits": {"memory": "much"}}},
            "resources.limits.memory",
            "'much' is not a size like 512Mi",
        ),
        ({"resources": {"limits": {"cpu": -1}}}, "resources.limits.cpu", "'-1' is not an amount"),
        ({"resources": {"limits": {"cpu": True}}}, "resources.limits.cpu", "True is not an amount"),
        (
            {"resources": {"limits": {"memory": float("inf")}}},
            "resources.limits.memory",
            "'inf' is not a size like 512Mi",
        ),
        (
            {"imagePullSecrets": [{"name": "one"}]},  # as in a pod
            "imagePullSecrets",
            "{'name': 'one'} is not the name of an object",
        ),
        ({"controllers": [{}]}, "controllers", "{} is not one of disruption, pdb, pub, rbg"),
        ({"tolerations": [{"key": "a b"}]}, "tolerations.key", "'a b' is not the key of a taint"),
        ({"labels": {"-": "a"}}, "labels", "'-' is not a label key without the prefix"),
        ({"labels": {"helm.sh/a": "a"}}, "labels", "'helm.sh/a' is not a label key without"),
        ({"labels": {"a": "b", "c": "d e"}}, "labels", "'d e' is not the value of a label"),
        ({"nodeSelector": {"a": "x" * 64}}, "nodeSelector", f"'{'x' * 64}' is not the value of a"),
        ({"labels": {"a": 1}}, "labels", "1 is not the value of a label"),
        ({"tolerations": [{"effect": "x"}]}, "tolerations.effect", "'x' is not one of"),
        ({"log": {"typo": 1}}, "log", "unknown field `typo`"),
        ({"typo": 1}, "", "unknown field `typo`"),
        ({"webhook": 1}, "webhook", "Expected `object`, got `int`"),
        ({"namespaceSelector": "a in b"}, "namespaceSelector", "is not a label selector like"),
        ({"metrics": {"port": 9443}}, "webhook.port", "9443 is also metrics.port"),
        (
            {"webhook": {"hostNetwork": True, "port": 10250}},
            "webhook.port",
            "10250 is the kubelet's port in the network of the nodes",
        ),
    ],
)
def test_a_bad_setting_is_named_with_its_value(
    given: dict[str, Any], path: str, problem: str
) -> None:
    with pytest.raises(BadSetting) as error:
        read_settings(given)
    assert error.value.path == path
    assert problem in error.value.problem


@pytest.mark.parametrize(
    "text", ["env", "!env", "a.b/c=d", "a==b,c!=", "zone in (a, b),x notin (c)", "env= prod"]
)
def test_selectors_of_kubectl_are_taken(text: str) -> None:
    assert read_settings({"namespaceSelector": text}).namespace_selector == text
