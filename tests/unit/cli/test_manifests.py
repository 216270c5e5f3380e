"""What `intact manifests` prints."""

from importlib.metadata import version
from typing import Any

import yaml
from click.testing import CliRunner

from intact.cli.main import main
from intact.operator.install.manifests import manifests


def printed(*options: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(main, ["manifests", *options])
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


def test_every_manifest_is_a_document() -> None:
    given = ("--namespace", "home", "--image", "example.test/intact:1", "--replicas", "3")
    assert printed(*given) == manifests(namespace="home", image="example.test/intact:1", replicas=3)


def test_the_image_is_that_of_this_version() -> None:
    assert printed() == manifests(image=f"intact:{version('intact')}")


def test_there_is_at_least_one_replica() -> None:
    result = CliRunner().invoke(main, ["manifests", "--replicas", "0"])
    assert result.exit_code == 2
