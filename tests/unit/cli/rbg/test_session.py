"""What goes wrong with a command about RoleBasedGroups, in one line that names the cause."""

from pathlib import Path

import pytest
from click.testing import Result

from tests.support.objects import NAMESPACES
from tests.unit.cli.rbg.cluster import ONE, refusal, stocked
from tests.unit.cli.rbg.seen import seen

NAMED = ("status", "undo", "plan", "history", "pause", "resume", "restart")


def error(result: Result) -> str:
    """The only line."""
    assert result.exit_code == 1, result.output
    [line] = result.output.splitlines()
    assert line.startswith("Error: ")
    return str(line.removeprefix("Error: "))


@pytest.mark.parametrize("command", NAMED)
async def test_a_cluster_without_the_kind_is_named(tmp_path: Path, command: str) -> None:
    async with stocked(tmp_path, kind=False) as cluster:
        assert error(await cluster.rbg(command, "llm")) == (
            "the cluster has no kind RoleBasedGroup (workloads.x-k8s.io/v1alpha1): Intact is not "
            "installed there, or this is not the cluster that you mean (--context)"
        )


async def test_a_list_of_a_cluster_without_the_kind_is_refused_alike(tmp_path: Path) -> None:
    async with stocked(tmp_path, kind=False) as cluster:
        for options in ((), ("-A",)):
            assert "has no kind RoleBasedGroup" in error(await cluster.rbg("status", *options))


@pytest.mark.parametrize("command", NAMED)
async def test_a_namespace_that_does_not_exist_is_named(tmp_path: Path, command: str) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        said = error(await cluster.rbg(command, "llm", namespace="nowhere"))
        assert said == 'namespace "nowhere" does not exist'


async def test_a_list_of_a_namespace_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        said = error(await cluster.rbg("status", namespace="nowhere"))
        assert said == 'namespace "nowhere" does not exist'


@pytest.mark.parametrize("command", NAMED)
async def test_a_group_that_is_elsewhere_is_found(tmp_path: Path, command: str) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        assert error(await cluster.rbg(command, "llm", namespace="other")) == (
            'there is no RoleBasedGroup "llm" in namespace "other"; there is one in ns (-n)'
        )
        assert error(await cluster.rbg(command, "nope", namespace="other")) == (
            'there is no RoleBasedGroup "nope" in namespace "other"'
        )


async def test_users_who_may_not_look_elsewhere_are_told_what_is_known(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        denied = refusal(403, "Forbidden", "no")
        cluster.refused = {"other": denied, "rolebasedgroups": denied}
        assert error(await cluster.rbg("status", "llm", namespace="other")) == (
            'there is no RoleBasedGroup "llm" in namespace "other"'
        )


DENIED = refusal(403, "Forbidden", 'User "eve" cannot get resource "rolebasedgroups"')


@pytest.mark.parametrize("command", NAMED)
async def test_a_right_that_is_missing_is_named(tmp_path: Path, command: str) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        cluster.refused = {"llm": DENIED}
        assert error(await cluster.rbg(command, "llm")) == (
            'you may not do that (403): User "eve" cannot get resource "rolebasedgroups"'
        )


async def test_a_list_that_is_forbidden_is_named(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        cluster.refused = {"rolebasedgroups": DENIED}
        assert "(403)" in error(await cluster.rbg("status", "-A"))


async def test_credentials_that_are_refused_are_named(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        cluster.refused = {"llm": refusal(401, "Unauthorized", "Unauthorized")}
        said = error(await cluster.rbg("status", "llm"))
        assert said == "the API server does not know you (401): Unauthorized"


async def test_a_change_that_intact_does_not_answer_names_the_way_out(tmp_path: Path) -> None:
    message = 'Internal error occurred: failed calling webhook "groups.intact.dev": refused'
    down = refusal(500, "InternalError", message)

    async with stocked(tmp_path, seen(state="Paused", updated=1)) as cluster:
        cluster.answer = lambda request: down if request.method == "PATCH" else None
        for command in ("pause", "restart"):
            said = error(await cluster.rbg(command, "llm"))
            assert said.startswith("Intact does not answer, and without it no RoleBasedGroup can")
            assert "docs/operations.md, RoleBasedGroups while Intact is down" in said
            assert said.endswith(message)
