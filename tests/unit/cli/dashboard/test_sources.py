"""Where moments come from."""

from pathlib import Path

import click
import msgspec
import pytest

from intact.cli.dashboard.sources import LiveCluster, from_file
from intact.kube import config
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.http import HttpTransport
from intact.kube.resources import RBGS
from intact.sandbox.snapshot.document import write
from tests.support.pictures import pdb, pod
from tests.unit.cli.inhabited import inhabited
from tests.unit.cli.rbg.cluster import ONE, stocked, stored_role
from tests.unit.sandbox.rehearsal.filmed import groups, recorded
from tests.unit.sandbox.rehearsal.rbg_scene import rbg_snapshot


async def test_a_cluster(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()]) as cluster:
        source = LiveCluster(cluster.client, "here")
        async with source.running():
            moment = await anext(source.moments())
            assert [one.metadata.name for one in moment.objects.pods] == ["a"]
            assert await source.refused(moment.picture.budgets[0]) == []


async def test_events_that_may_not_be_read(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()]) as cluster:
        cluster.forbidden.add("events")
        async with Client(HttpTransport(config.load(cluster.kubeconfig))) as client:
            source = LiveCluster(client, "here")
            async with source.running():
                moment = await anext(source.moments())
                with pytest.raises(KubeError, match="no"):
                    await source.refused(moment.picture.budgets[0])


async def test_a_film_begins_with_its_first_frame(tmp_path: Path) -> None:
    path = tmp_path / "drain.film"
    recorded(groups(), "node-0").write(path)
    source = from_file(path)
    assert source.film is not None
    assert source.film.length > 1
    moment = await anext(source.moments())
    assert len(moment.objects.nodes) == 4


FILMED = {"format": "intact-film", "version": 1, "began": "2026-03-01T12:00:00Z"}
NEITHER = "this is neither a snapshot nor a film: "


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"", f"{NEITHER}Input data was truncated"),
        (b"no film", f"{NEITHER}JSON is malformed"),
        (b"[]", f"{NEITHER}Expected `object`, got `array`"),
        (b"\x1f\x8bbroken", "the compressed file is damaged: "),
        ({}, f"{NEITHER}its format is '', not 'intact-snapshot' or 'intact-film'"),
        ({**FILMED, "version": 9}, "the film has version 9; this version of Intact reads 1"),
        ({**FILMED, "began": None}, "the film is damaged: it does not say when it began"),
        (
            {**FILMED, "changes": [{"at": 2}, {"at": 1}]},
            "the film is damaged: its changes are not in the order of their times",
        ),
        ({**FILMED, "objects": {"pods": [{}]}}, "the film is damaged: pods: "),
        ({**FILMED, "changes": [{"at": "x"}]}, "this is no film: Expected `float`, got `str`"),
        (
            {"format": "intact-snapshot", "version": 1},
            "the snapshot is damaged: it does not say when it was taken",
        ),
    ],
)
def test_a_file_that_cannot_be_shown(tmp_path: Path, given: object, said: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(given if isinstance(given, bytes) else msgspec.json.encode(given))
    with pytest.raises(click.ClickException) as raised:
        from_file(path)
    assert raised.value.message.startswith(f"{path}: {said}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="missing: No such file"):
        from_file(tmp_path / "missing")


async def test_a_snapshot_is_shown_at_the_time_when_it_was_taken(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    snapshot = groups().snapshot()
    write(snapshot, path)
    source = from_file(path)
    assert (await anext(source.moments())).now == snapshot.time
    assert source.title == "snapshot.json: 2026-03-01 12:00 UTC"


async def test_revisions_are_read_again_when_the_group_names_another(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        source = LiveCluster(cluster.client, "here")
        group = await cluster.client.get(RBGS, "llm", "ns")
        assert [one["revision"] for one in await source.revisions(group)] == [1, 2]
        roles = {"prefill": stored_role("engine:3")}
        await cluster.add_revision(group.metadata.uid, "c", 3, roles)
        assert len(await source.revisions(group)) == 2
        status = msgspec.structs.replace(group.status, update_revision="llm-c")
        moved = msgspec.structs.replace(group, status=status)
        assert [one["revision"] for one in await source.revisions(moved)] == [1, 2, 3]


async def test_revisions_of_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    write(rbg_snapshot(), path)
    source = from_file(path)
    [group] = (await anext(source.moments())).objects.rbgs
    [revision] = await source.revisions(group)
    assert (revision["revision"], revision["update"]) == (1, True)
