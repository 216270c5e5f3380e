"""What wakes a drain, and what its pictures show."""

import asyncio
from collections import Counter

import pytest

from intact.cli.drain.units import BudgetKey
from intact.cli.drain.watching import Watching, is_live
from intact.kube.errors import KubeError
from tests.support.objects import NAMESPACES, PODS, pod
from tests.unit.cli.drain.objects import pdb, picture, pub
from tests.unit.cli.drain.objects import pod as pod_view
from tests.unit.cli.drain.world import SPACE, World, refusal, simulated


@simulated
async def test_only_what_matters_is_drawn_and_wakes(this: World) -> None:
    await this.set_up("n", "m")
    await this.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    await this.add("a")
    await this.client.create(PODS, pod("x", node="m"), "other")
    watching = Watching(this.client, ["n"])
    async with watching.running():
        watching.namespaces = {SPACE}
        [(namespace, drawn)] = (await watching.draw()).items()
        assert namespace == SPACE
        assert [one.metadata.name for one in drawn.objects.pods] == ["a"]
        watching.wake.clear()
        await this.client.create(PODS, pod("y", node="m"), "other")
        await asyncio.sleep(1)
        assert not watching.wake.is_set()
        await this.client.create(PODS, pod("z", node="n"), "other")
        await asyncio.sleep(1)
        assert watching.wake.is_set()
        assert sorted(one.metadata.name for one in watching.on_drained()) == ["a", "z"]


@simulated
async def test_only_a_namespace_that_has_changed_is_drawn_again(this: World) -> None:
    await this.set_up()
    await this.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    await this.add("a")
    await this.client.create(PODS, pod("x", node="n"), "other")
    watching = Watching(this.client, ["n"])
    async with watching.running():
        watching.namespaces = {SPACE, "other"}
        before = dict(await watching.draw())
        await this.ready("a", "False")
        await asyncio.sleep(1)
        after = dict(await watching.draw())
        assert after["other"] is before["other"]
        assert after[SPACE] is not before[SPACE]
        assert (await watching.draw())[SPACE] is after[SPACE]


@simulated
async def test_a_budget_that_changes_is_told(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)
    changes: Counter[BudgetKey] = Counter()
    watching = Watching(this.client, ["n"])
    async with watching.running():
        watching.namespaces = {SPACE}
        watching.on_change = lambda key: changes.update([key])
        await watching.draw()
        await this.ready("a", "False")
        await asyncio.sleep(1)
        assert not changes  # its numbers follow its pods
        await this.allow(1)
        await asyncio.sleep(1)
        assert changes == {("PodDisruptionBudget", SPACE, "b"): 1}


def test_numbers_that_nobody_writes_do_not_follow_pods() -> None:
    pods = [pod_view("a-0", "a")]
    assert [is_live(one) for one in picture(pods, pub(), pdb()).budgets] == [True, True]
    assert [is_live(one) for one in picture(pods, pub(), intact=None).budgets] == [False]


@simulated
async def test_without_the_kind_there_is_no_intact(this: World) -> None:
    await this.set_up()
    watching = Watching(this.client, ["n"])
    async with watching.running():
        assert watching.intact is False
        assert watching.unreadable == {}


@simulated
async def test_budgets_that_may_not_be_read_are_named_and_pods_are_needed(this: World) -> None:
    await this.set_up()
    send = this.api.send

    async def forbidden(request: object) -> object:
        path = request.path  # type: ignore[attr-defined]
        if path.endswith("poddisruptionbudgets"):
            return refusal(403, "you may not")
        return await send(request)  # type: ignore[arg-type]

    this.api.send = forbidden  # type: ignore[method-assign,assignment]
    watching = Watching(this.client, ["n"])
    async with watching.running():
        assert watching.unreadable == {"poddisruptionbudgets.policy": "you may not"}

    async def nothing(request: object) -> object:
        if request.path.endswith("pods"):  # type: ignore[attr-defined]
            return refusal(403, "no pods")
        return await send(request)  # type: ignore[arg-type]

    this.api.send = nothing  # type: ignore[method-assign,assignment]
    with pytest.raises(KubeError, match="no pods"):
        async with Watching(this.client, ["n"]).running():
            pass
