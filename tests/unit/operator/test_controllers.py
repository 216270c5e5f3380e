"""The chosen controllers bring what they watch and what they answer."""

import asyncio
from datetime import UTC, datetime

import pytest

from intact.kube.client import Client
from intact.operator.controllers import Controllers
from intact.sandbox import MemoryApi

PUB_PATHS = {"/gate", "/pin", "/validate/pub"}
PDB_PATHS = {"/validate/pdb", "/gate/pdb-status", "/door"}
RBG_PATHS = {"/validate/rbg", "/place"}


def controllers(*names: str, groups: bool = True) -> Controllers:
    return Controllers(
        Client(MemoryApi()),
        names,
        "me",
        now=lambda: datetime.now(UTC),
        leads=lambda: True,
        groups=groups,
    )


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (("pub",), PUB_PATHS),
        (("pdb",), PDB_PATHS),
        (("rbg",), RBG_PATHS),
        (("disruption",), set()),
        (("pub", "pdb", "rbg", "disruption"), PUB_PATHS | PDB_PATHS | RBG_PATHS),
    ],
)
async def test_each_answers_its_own_paths(names: tuple[str, ...], paths: set[str]) -> None:
    assert set(controllers(*names).handlers) == paths


async def test_without_reviews_no_groups_are_counted() -> None:
    assert controllers("pdb", groups=False).pdb is None
    plain = controllers("pdb", "disruption", groups=False)
    assert plain.pdb is not None
    assert not plain.handlers


async def test_they_share_their_watches() -> None:
    found = controllers("pub", "pdb", "rbg")
    names = [reflector.name for reflector in found.reflectors()]
    assert names.count("poddisruptionbudgets.policy") == 1
    assert found.pub is not None
    assert found.pdb is not None
    assert found.pub.pods.store is found.pdb.status_gate._pods.store


async def test_budgets_are_waited_for_and_the_crd_of_rolebasedgroups_is_not() -> None:
    found = controllers("pdb", "rbg")
    running = asyncio.create_task(found.run())
    async with asyncio.timeout(10):
        await found.wait_synced()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
