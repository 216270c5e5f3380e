"""`intact rbg history`."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.rbg.cluster import ONE, refusal, stocked, stored_role
from tests.unit.cli.rbg.seen import seen


async def test_revisions_with_what_they_changed_and_which_is_in_use(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        found = await cluster.rbg("history", "llm")
    assert found.exit_code == 0
    head, *lines = found.stdout.splitlines()
    assert head.split() == ["REVISION", "NAME", "AGE", "STATE", "CHANGED"]
    assert all(re.fullmatch(r"(\d+[smhdy])+", line.split()[2]) for line in lines)
    assert [line.split()[:2] + line.split()[3:] for line in lines] == [
        ["1", "llm-a", "current", "prefill:", "engine:1"],
        ["2", "llm-b", "update", "prefill:", "engine:1", "→", "engine:2"],
    ]


async def test_revisions_of_a_former_group_of_the_name_are_not_shown(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        await cluster.add_revision("former", "z", 3, {"prefill": stored_role("old:1")})
        found = await cluster.rbg("history", "llm", "-o", "name")
    assert found.stdout.splitlines() == [
        "controllerrevision.apps/llm-a",
        "controllerrevision.apps/llm-b",
    ]


async def test_a_wide_history_has_all_images(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        found = await cluster.rbg("history", "llm", "-o", "wide")
    assert found.stdout.splitlines()[0].endswith("IMAGES")
    assert found.stdout.splitlines()[2].endswith("  prefill: engine:2")


async def test_the_document_of_a_history(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        found = await cluster.rbg("history", "llm", "-o", "json")
        as_yaml = await cluster.rbg("history", "llm", "-o", "yaml")
    items = json.loads(found.stdout)["items"]
    assert items[1].pop("created")
    assert items[1] == {
        "revision": 2,
        "name": "llm-b",
        "hash": "b",
        "current": False,
        "update": True,
        "changed": {"prefill": "engine:1 → engine:2"},
        "images": {"prefill": ["engine:2"]},
    }
    assert yaml.safe_load(as_yaml.stdout)["items"][1]["name"] == "llm-b"


@pytest.mark.parametrize("output", ["", "json", "yaml"])
async def test_one_revision_with_its_templates(tmp_path: Path, output: str) -> None:
    options = ("-o", output) if output else ()
    async with stocked(tmp_path, ONE) as cluster:
        found = await cluster.rbg("history", "llm", "--revision", "1", *options)
    assert yaml.safe_load(found.stdout)["roles"] == {"prefill": stored_role("engine:1")}
    if not output:
        assert found.stdout.startswith("# RoleBasedGroup ns/llm, revision 1 (llm-a)\n")


async def test_an_unknown_revision_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        found = await cluster.rbg("history", "llm", "--revision", "7")
    assert found.exit_code == 1
    assert "there is no revision 7; known revisions: 1, 2" in found.output


async def test_templates_that_have_no_revision_yet_are_told_of(tmp_path: Path) -> None:
    async with stocked(tmp_path, seen(name="fresh")) as cluster:
        found = await cluster.rbg("history", "fresh")
    assert (found.exit_code, found.stdout) == (0, "")
    assert "Intact has made no revision of the present templates yet" in found.stderr


async def test_who_may_not_read_revisions_is_told_so(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        denied = refusal(403, "Forbidden", "cannot list controllerrevisions")
        cluster.refused = {"controllerrevisions": denied}
        found = await cluster.rbg("history", "llm")
    assert found.exit_code == 1
    assert found.output == "Error: you may not do that (403): cannot list controllerrevisions\n"
