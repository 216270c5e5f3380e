"""Where moments come from."""

from pathlib import Path

import click
import pytest

from intact.cli.dashboard.sources import LiveCluster, from_file
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from tests.support.pictures import pdb, pod
from tests.unit.cli.inhabited import inhabited
from tests.unit.sandbox.rehearsal.filmed import groups, recorded


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
                assert await source.refused(moment.picture.budgets[0]) == ()


async def test_a_film_begins_with_its_first_frame(tmp_path: Path) -> None:
    path = tmp_path / "drain.film"
    recorded(groups(), "node-0").write(path)
    source = from_file(path)
    assert source.film is not None
    assert source.film.length > 1
    moment = await anext(source.moments())
    assert len(moment.objects.nodes) == 4


@pytest.mark.parametrize("text", ["", "{}", "no film"])
def test_a_file_that_is_neither(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(click.ClickException, match="x: "):
        from_file(path)
    with pytest.raises(click.ClickException, match="No such file"):
        from_file(tmp_path / "missing")
