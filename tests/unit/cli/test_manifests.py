"""What `intact manifests` prints."""

from importlib.metadata import version
from typing import Any

import pytest
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


def test_memory_and_addresses_are_those_that_were_asked_for() -> None:
    given = ("--memory-limit", "2Gi", "--api-server-cidr", "10.0.0.1/32")
    image = f"intact:{version('intact')}"
    wanted = manifests(image=image, memory_limit="2Gi", api_server_cidrs=["10.0.0.1/32"])
    assert printed(*given) == wanted


@pytest.mark.parametrize(
    "given",
    [("--memory-limit", "much"), ("--api-server-cidr", "10.0.0.1/8"), ("--api-server-cidr", "x")],
)
def test_what_is_no_size_or_no_network_is_one_line(given: tuple[str, str]) -> None:
    result = CliRunner().invoke(main, ["manifests", *given])
    assert result.exit_code == 2
    assert given[0] in result.output


def test_the_image_and_the_replicas_are_those_that_were_asked_for() -> None:
    found = printed("--image", "example.test/other:2", "--replicas", "3")
    [deployment] = [each for each in found if each["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "intact-system"
    assert deployment["spec"]["replicas"] == 3
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.test/other:2"
