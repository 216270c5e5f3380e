"""The flags of `intact manifests`: one for each value of the chart."""

from typing import Any

import click
import pytest

from intact.cli.main import main
from intact.cli.manifests_flags import FLAGS, given_settings
from intact.operator.install.settings import leaves, read_settings


def given(*arguments: str) -> dict[str, Any]:
    command = main.commands["manifests"]
    return given_settings(command.make_context("manifests", list(arguments)).params)


def test_every_value_has_a_flag() -> None:
    assert FLAGS.keys() == {path for path, _ in leaves()}


def test_nothing_is_given_without_flags() -> None:
    assert given() == {}


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (("--replicas", "3"), {"replicas": 3}),
        (("--controllers", "pub, pdb"), {"controllers": ["pub", "pdb"]}),
        (("--host-network",), {"webhook": {"hostNetwork": True}}),
        (("--no-network-policy",), {"networkPolicy": {"enabled": False}}),
        (("--memory-limit", "1Gi"), {"resources": {"limits": {"memory": "1Gi"}}}),
        (("--cpu-limit", ""), {"resources": {"limits": {"cpu": ""}}}),
        (("--label", "a=b", "--label", "c="), {"labels": {"a": "b", "c": ""}}),
        (("--image-pull-secret", "a"), {"imagePullSecrets": ["a"]}),
        (("--toleration", "a"), {"tolerations": [{"key": "a", "operator": "Exists"}]}),
        (
            ("--toleration", "a=b:NoSchedule"),
            {
                "tolerations": [
                    {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
                ]
            },
        ),
    ],
)
def test_flags_become_values(arguments: tuple[str, ...], values: dict[str, Any]) -> None:
    assert given(*arguments) == values
    read_settings(values)


@pytest.mark.parametrize("arguments", [("--label", "a"), ("--toleration", ":NoSchedule")])
def test_what_cannot_be_read_names_the_flag(arguments: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError, match=f"{arguments[0]} '{arguments[1]}' is not"):
        given(*arguments)
