"""The templates that a LeaderWorkerSet has had."""

import pytest

from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.leader_worker_set.kind import KIND, LEADER_WORKER_SETS, REVISION
from intact.sandbox.controllers.leader_worker_set.revisions import (
    adopt,
    as_of,
    forget_others,
    revision_key,
)
from intact.sandbox.controllers.pods import owner_reference
from intact.sandbox.controllers.resources import CONTROLLER_REVISIONS
from tests.support.objects import Json
from tests.unit.sandbox.controllers.acting import change, create
from tests.unit.sandbox.controllers.leader_worker_set.scene import leader_worker_set


@pytest.fixture
def shared(shared: Shared) -> Shared:
    shared.api.register(KIND)
    return shared


def leaders(key: str) -> Json:
    return {"metadata": {"labels": {REVISION: key}}}


async def resized(shared: Shared, size: int) -> Json:
    spec = {"leaderWorkerTemplate": {"size": size}}
    return await change(shared, LEADER_WORKER_SETS, "llm", {"spec": spec})


async def test_a_changed_template_has_a_new_key(shared: Shared) -> None:
    each = await create(shared, LEADER_WORKER_SETS, leader_worker_set())
    first, _ = await revision_key(shared, each, None)
    assert await revision_key(shared, each, leaders(first)) == (first, False)
    scaled = await change(shared, LEADER_WORKER_SETS, "llm", {"spec": {"replicas": 5}})
    assert await revision_key(shared, scaled, leaders(first)) == (first, False)
    each = await resized(shared, 4)
    second, is_new = await revision_key(shared, each, leaders(first))
    assert is_new
    assert second != first
    assert as_of(shared, each, first)["spec"]["leaderWorkerTemplate"]["size"] == 3
    assert as_of(shared, each, second)["spec"]["leaderWorkerTemplate"]["size"] == 4


@pytest.mark.parametrize("is_written_down", [False, True])
async def test_what_was_there_before_has_the_present_template(
    shared: Shared, is_written_down: bool
) -> None:
    each = await create(shared, LEADER_WORKER_SETS, leader_worker_set())
    if is_written_down:
        # As the controller of LeaderWorkerSets does it, and as a snapshot leaves it.
        body = {
            "metadata": {
                "name": "llm-theirs-1",
                "labels": {REVISION: "theirs"},
                "ownerReferences": [owner_reference(each)],
            },
            "data": {"spec": {"leaderWorkerTemplate": {"$patch": "replace", "size": 3}}},
            "revision": 1,
        }
        await create(shared, CONTROLLER_REVISIONS, body)
    await adopt(shared, each, leaders("theirs"))
    assert await revision_key(shared, each, leaders("theirs")) == ("theirs", False)
    template = each["spec"]["leaderWorkerTemplate"]
    assert as_of(shared, each, "theirs")["spec"]["leaderWorkerTemplate"] == template
    each = await resized(shared, 4)
    _, is_new = await revision_key(shared, each, leaders("theirs"))
    assert is_new


async def test_old_ones_are_forgotten(shared: Shared) -> None:
    each = await create(shared, LEADER_WORKER_SETS, leader_worker_set())
    first, _ = await revision_key(shared, each, None)
    each = await resized(shared, 4)
    second, _ = await revision_key(shared, each, leaders(first))
    await forget_others(shared, each, second)
    [kept] = shared.revisions.of(each)
    assert kept["metadata"]["labels"][REVISION] == second
