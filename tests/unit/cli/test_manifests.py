"""What `intact manifests` prints."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from intact.cli.main import main
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings, read_settings


def printed(*options: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(main, ["manifests", *options])
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


def test_every_manifest_is_a_document() -> None:
    given = ("--namespace", "home", "--image", "example.test/intact:1", "--replicas", "3")
    settings = Settings(image="example.test/intact:1", replicas=3)
    assert printed(*given) == manifests(settings, namespace="home")


def test_the_image_is_that_of_this_version() -> None:
    assert printed() == manifests(Settings(image=f"intact:{version('intact')}"))


def test_there_is_at_least_one_replica() -> None:
    result = CliRunner().invoke(main, ["manifests", "--replicas", "0"])
    assert result.exit_code == 2


def test_flags_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("replicas: 5\nresources:\n  limits: {memory: 2Gi, cpu: '1'}\nglobal: {x: 1}\n")
    limits = {"memory": "3Gi", "cpu": "1"}
    wanted = read_settings({"replicas": 5, "resources": {"limits": limits}})
    assert printed("--values", str(file), "--memory-limit", "3Gi") == manifests(wanted)


def test_keys_and_dates_of_the_file_are_texts_as_for_helm(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("labels: {1: a, since: 2026-01-02}\n")
    wanted = read_settings({"labels": {"1": "a", "since": "2026-01-02"}})
    assert printed("--values", str(file)) == manifests(wanted)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--memory-limit", "much"), "--memory-limit: 'much' is not a size like 512Mi"),
        (
            ("--api-server-cidr", "fd00:::/8"),
            "--api-server-cidr: 'fd00:::/8' does not appear to be",
        ),
        (("--api-server-cidr", "x"), "--api-server-cidr: 'x' is not a network like 10.0.0.0/24"),
        (("--toleration", "a:Never"), "--toleration: 'Never' is not one of"),
        (("--values", "/nowhere"), "--values"),
        (("--namespace", "A_b"), "--namespace: 'A_b' is not the name of a namespace"),
        (("--namespace", ""), "--namespace: '' is not the name of a namespace"),
    ],
)
def test_a_bad_value_is_one_line_with_the_flag(given: tuple[str, str], said: str) -> None:
    result = CliRunner().invoke(main, ["manifests", *given])
    assert result.exit_code == 2
    assert said in result.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("replicas: 0", "replicas: 0 is not a number from 1 to 100"),
        ("log: {level: loud}", "log.level: 'loud' is not one of"),
        ("other: 1", "unknown field `other`"),
        ("- 1", "is not a map of values"),
        ("a: [", "--values"),
        ("1: a", "unknown field `1`"),
        ("labels: {true: a}", "--values"),
        ("labels: &a {a: *a}", "--values"),
    ],
)
def test_a_bad_value_is_one_line_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    result = CliRunner().invoke(main, ["manifests", "--values", str(file)])
    assert result.exit_code == 2
    assert said in result.output
    assert str(file) in result.output


def test_the_image_and_the_replicas_are_those_that_were_asked_for() -> None:
    found = printed("--image", "example.test/other:2", "--replicas", "3")
    [deployment] = [each for each in found if each["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "intact-system"
    assert deployment["spec"]["replicas"] == 3
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.test/other:2"
