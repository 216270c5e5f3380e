"""Finding what is asked about."""

from pathlib import Path

import click
import pytest

from intact.cli.why.find import absent, elsewhere, find
from intact.cli.why.types import Type
from tests.support.pictures import pdb, pod
from tests.unit.cli.inhabited import inhabited


async def test_an_object_is_found_by_type_and_name(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("web-0"), pdbs=[pdb()]) as cluster:
        found = await find(cluster.client, Type.PDB, "llm-pods", "llm")
        assert found.metadata.name == "llm-pods"
        with pytest.raises(click.ClickException, match='there is no pod "x" in namespace "llm"'):
            await find(cluster.client, Type.POD, "x", "llm")


async def test_a_missing_kind_is_said(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        said = await absent(cluster.client, Type.RBG, "x", "llm")
    assert said.startswith("the cluster has no kind RoleBasedGroup (workloads.x-k8s.io/v1alpha1)")


def test_where_it_is_instead() -> None:
    assert elsewhere("no", set()) == "no"
    assert elsewhere("no", {"b", "a"}) == "no; there is one in a, b (-n)"
