"""`intact uninstall`, against a server on loopback."""

from pathlib import Path

import pytest

from intact.cli import uninstall as command
from intact.kube.client import Client
from intact.operator.install.install import CRDS
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings
from intact.operator.webhook.certificates import SECRET, SECRETS
from intact.sandbox import MemoryApi
from tests.support.rbg_objects import group, role
from tests.support.rbg_waiting import GROUPS
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
    bodies = manifests(Settings(image="intact:1"), namespace="home")
    await create_all(client, bodies)
    # A process outside the cluster keeps its CA in the namespace of its context.
    await client.create(SECRETS, {"metadata": {"name": SECRET}}, "default")
    async with served(api, tmp_path) as kubeconfig:
        options = ("--kubeconfig", kubeconfig, "--namespace", "home")
        result = await invoked("uninstall", "--yes", *options, *(["--crds"] if crds else []))
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--crds", "--delete-groups", "--orphan-groups"], "exclude each other"),
        (["--delete-groups"], "--delete-groups needs --crds"),
        (["--orphan-groups", "--yes"], "--orphan-groups needs --crds"),
    ],
)
async def test_options_that_do_not_go_together_are_refused(options: list[str], said: str) -> None:
    result = await invoked("uninstall", *options)
    assert result.exit_code == 2
    assert said in result.output


async def objects(api: MemoryApi) -> int:
    return sum([len((await Client(api).list(resource_of(one))).items) for one in BODIES])


BODIES = manifests(Settings(image="intact:1"), namespace="home")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--dry-run"], 0, "  Deployment home/intact"),
        (["--dry-run", "--yes"], 0, "  Deployment home/intact"),
        ([], 1, "nothing was removed: there is no terminal to ask on. Give --yes"),
        (["--crds"], 1, "nothing was removed: there is no terminal to ask on. Give --yes"),
    ],
)
async def test_nothing_is_removed_without_a_yes(
    api: MemoryApi, tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    await create_all(Client(api), BODIES)
    before = await objects(api)
    async with served(api, tmp_path) as kubeconfig:
        where = ("--kubeconfig", kubeconfig, "--namespace", "home")
        result = await invoked("uninstall", *where, *options)
    assert result.exit_code == code
    assert said in result.output
    assert await objects(api) == before


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1)])
async def test_on_a_terminal_the_user_is_asked(
    api: MemoryApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    await create_all(Client(api), BODIES)
    before = await objects(api)
    monkeypatch.setattr(command, "_is_terminal", lambda: True)
    async with served(api, tmp_path) as kubeconfig:
        where = ("--kubeconfig", kubeconfig, "--namespace", "home")
        result = await invoked("uninstall", *where, answers=answer)
    assert result.exit_code == code
    assert "would go:\n  Deployment home/intact" in result.output
    assert "Remove all this? [y/N]: " in result.output
    assert (await objects(api) == before) is (answer == "n")


async def test_groups_in_the_way_are_one_error(api: MemoryApi, tmp_path: Path) -> None:
    client = Client(api)
    await create_all(client, BODIES)
    await client.create(GROUPS, group("llm", role("prefill", 1)), "default")
    async with served(api, tmp_path) as kubeconfig:
        where = ("--kubeconfig", kubeconfig, "--namespace", "home")
        result = await invoked("uninstall", *where, "--crds", "--yes")
    assert result.exit_code == 1
    assert result.output.startswith("Error: the cluster has 1 RoleBasedGroups")
    assert "default/llm (0 pods)" in result.output
    assert len((await client.list(CRDS)).items) == 3
