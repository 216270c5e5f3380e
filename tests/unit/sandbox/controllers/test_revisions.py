"""ControllerRevisions."""

from typing import Any

from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.revisions import (
    latest_revision,
    revisions_of,
    template_of,
    truncate_history,
)
from tests.support.objects import CONTROLLER_REVISIONS, STATEFUL_SETS, Json, stateful_set
from tests.unit.sandbox.controllers.acting import change, create, peek


async def image(shared: Shared, number: int) -> Json:
    containers: list[Any] = [{"name": "main", "image": f"registry.example/main:{number}"}]
    return await change(
        shared, STATEFUL_SETS, "w", {"spec": {"template": {"spec": {"containers": containers}}}}
    )


async def test_each_template_has_a_revision_and_an_old_one_comes_back(shared: Shared) -> None:
    body = stateful_set("w")
    body["metadata"]["annotations"] = {"why": "test"}
    first = await latest_revision(shared, await create(shared, STATEFUL_SETS, body))
    assert first.revision["revision"] == 1
    assert first.revision["metadata"]["annotations"] == {"why": "test"}
    assert (await latest_revision(shared, peek(shared, STATEFUL_SETS, "w"))).name == first.name

    second = await latest_revision(shared, await image(shared, 2))
    assert second.name != first.name
    third = await latest_revision(shared, await image(shared, 1))
    assert third.name == first.name
    owner = peek(shared, STATEFUL_SETS, "w")
    assert [each["revision"] for each in revisions_of(shared, owner)] == [2, 3]
    assert template_of(third.revision) == owner["spec"]["template"]


async def test_a_name_that_another_revision_has_is_passed_over(shared: Shared) -> None:
    owner = await create(shared, STATEFUL_SETS, stateful_set("w"))
    first = await latest_revision(shared, owner)
    stranger = {
        "metadata": {"name": first.name},
        "revision": 9,
        "data": {"spec": {"template": {"other": True}}},
    }
    await shared.client.delete(CONTROLLER_REVISIONS, first.name, "default")
    await create(shared, CONTROLLER_REVISIONS, stranger)
    second = await latest_revision(shared, owner)
    assert second.name != first.name
    assert (first.collisions, second.collisions) == (0, 1)


async def test_the_oldest_revisions_go_beyond_the_limit_unless_they_are_used(
    shared: Shared,
) -> None:
    await create(shared, STATEFUL_SETS, stateful_set("w"))
    names = [(await latest_revision(shared, await image(shared, n))).name for n in range(5)]
    owner = peek(shared, STATEFUL_SETS, "w")
    await truncate_history(shared, owner, {names[0], names[4]}, 1)
    left = [each["metadata"]["name"] for each in revisions_of(shared, owner)]
    assert left == [names[0], names[3], names[4]]
