"""`intact uninstall`, against a server on loopback."""

from pathlib import Path

import pytest

from intact.kube.client import Client
from intact.operator.install.install import CRDS
from intact.operator.install.manifests import manifests
from intact.operator.webhook.certificates import SECRET, SECRETS
from intact.sandbox import MemoryApi
from tests.unit.cli.loopback import invoked, served
from tests.unit.operator.install.cluster import create_all, new_api, resource_of


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of the machine that the tests run on are not asked."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def api() -> MemoryApi:
    return new_api()


@pytest.mark.parametrize("crds", [False, True])
async def test_intact_is_removed_and_each_step_is_said(
    api: MemoryApi, tmp_path: Path, crds: bool
) -> None:
    client = Client(api)
    bodies = manifests(namespace="home", image="intact:1")
    await create_all(client, bodies)
    # A process outside the cluster keeps its CA in the namespace of its context.
    await client.create(SECRETS, {"metadata": {"name": SECRET}}, "default")
    async with served(api, tmp_path) as kubeconfig:
        options = ("--kubeconfig", kubeconfig, "--namespace", "home")
        result = await invoked("uninstall", *options, *(["--crds"] if crds else []))
    assert result.exit_code == 0, result.output
    said = result.output.splitlines()
    assert "Deployment home/intact deleted" in said
    assert f"Secret default/{SECRET} deleted" in said
    [deployment] = [body for body in bodies if body["kind"] == "Deployment"]
    assert (await client.list(resource_of(deployment))).items == []
    assert bool((await client.list(CRDS)).items) is not crds


async def test_a_cluster_that_cannot_be_reached_is_one_line(api: MemoryApi, tmp_path: Path) -> None:
    async with served(api, tmp_path) as kubeconfig:
        pass
    result = await invoked("uninstall", "--kubeconfig", kubeconfig)
    assert result.exit_code == 1
    assert result.output.startswith("Error: cannot connect to http://127.0.0.1:")
    assert len(result.output.splitlines()) == 1


async def test_a_kubeconfig_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    result = await invoked("uninstall", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert result.output.startswith("Error: cannot read kubeconfig")
    assert len(result.output.splitlines()) == 1
