"""A client for the time of one command."""

from pathlib import Path

import click
import msgspec
import pytest

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.kube.errors import KubeError


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    context = {"cluster": "c", "namespace": "of-the-context"}
    content = {
        "current-context": "main",
        "contexts": [{"name": "main", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    path = tmp_path / "config"
    path.write_bytes(msgspec.yaml.encode(content))
    return str(path)


async def test_the_namespace_is_the_one_given_else_the_context_s(kubeconfig: str) -> None:
    async with session(Cluster(kubeconfig)) as (_, namespace):
        assert namespace == "of-the-context"
    async with session(Cluster(kubeconfig, namespace="given")) as (_, namespace):
        assert namespace == "given"


async def test_a_context_that_is_not_there_is_one_line(kubeconfig: str) -> None:
    with pytest.raises(click.ClickException, match="no context 'away'"):
        async with session(Cluster(kubeconfig, "away")):
            pass


async def test_a_failure_inside_is_one_line(kubeconfig: str) -> None:
    with pytest.raises(click.ClickException, match="it went wrong"):
        async with session(Cluster(kubeconfig)):
            raise KubeError("it went wrong")
