"""The drain on a cluster in memory: what it asks for, when it asks again, and when it ends."""

import asyncio
from itertools import pairwise

from intact.cli.drain.draining import FAILURES, Result
from intact.cli.drain.events import What
from intact.kube.errors import Unreachable
from intact.kube.transport import Response
from tests.support.objects import NODES, PDBS, PODS, pod
from tests.unit.cli.drain.world import OWNER, SPACE, World, refusal, simulated


@simulated
async def test_pods_without_a_budget_go_at_once(this: World) -> None:
    await this.set_up()
    for name in ("a", "b", "c"):
        await this.add(name)
    async with this.kubelet():
        assert await this.drain() is Result.DRAINED
    assert sorted(this.of(What.EVICTING)) == sorted(this.of(What.EVICTED)) == ["a", "b", "c"]
    assert [at for at, _what, _name in this.told(What.EVICTING)] == [0, 0, 0]


@simulated
async def test_a_refused_pod_is_asked_for_again_when_its_budget_changes(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)

    async def later() -> None:
        await asyncio.sleep(1000)
        await this.allow(1)

    async with this.kubelet(), asyncio.TaskGroup() as group:
        group.create_task(later())
        assert await this.drain() is Result.DRAINED
    assert this.asked == ["a", "a"]
    assert [at for at, _what, _name in this.told(What.EVICTING)] == [1000]
    assert this.of(What.WAITING) == ["pdb/b"]


@simulated
async def test_a_budget_that_is_deleted_lets_its_pods_go(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)

    async def later() -> None:
        await asyncio.sleep(10)
        await this.client.delete(PDBS, "b", SPACE)

    async with this.kubelet(), asyncio.TaskGroup() as group:
        group.create_task(later())
        assert await this.drain() is Result.DRAINED


@simulated
async def test_as_many_go_at_once_as_the_budget_allows(this: World) -> None:
    await this.set_up()
    for name in ("a", "b", "c"):
        await this.add(name)
    await this.budget(2)

    async def later() -> None:
        await asyncio.sleep(100)
        await this.allow(1)

    async with this.kubelet(), asyncio.TaskGroup() as group:
        group.create_task(later())
        assert await this.drain() is Result.DRAINED
    assert [at for at, _what, _name in this.told(What.EVICTING)] == [0, 0, 100]
    # At most two questions in vain, when the numbers allowed nothing more.
    assert len(this.asked) <= 5


@simulated
async def test_a_refused_group_is_asked_for_by_one_pod_and_goes_as_one(this: World) -> None:
    await this.set_up("n", "m")
    await this.add("a-0", "a")
    await this.add("a-1", "a", node="m")
    await this.budget(0)

    async def later() -> None:
        await asyncio.sleep(10)
        await this.allow(2)

    async with this.kubelet(), asyncio.TaskGroup() as group:
        group.create_task(later())
        assert await this.drain("n", "m") is Result.DRAINED
    assert this.asked == ["a-0", "a-0", "a-1"]
    assert [at for at, _what, _name in this.told(What.EVICTING)] == [10, 10]
    assert {event.group for _at, event in this.events if event.what is What.EVICTING} == {"a"}


@simulated
async def test_a_group_takes_its_pods_along_from_nodes_whose_turn_has_not_come(this: World) -> None:
    await this.set_up("n", "m")
    await this.add("a-0", "a")
    await this.add("a-1", "a", node="m")
    await this.add("other", node="m")
    await this.budget(3)
    async with this.kubelet():
        assert await this.drain("n", "m", parallel=1, pause_between=60) is Result.DRAINED
    times = {name: at for at, _what, name in this.told(What.EVICTING)}
    assert times["a-0"] == times["a-1"] == 0
    assert 60 < times["other"] < 63
    assert this.of(What.DRAINED) == ["n", "m"]


@simulated
async def test_a_group_that_is_down_goes_while_one_that_would_break_waits(this: World) -> None:
    await this.set_up()
    await this.add("a-0", "a", size=1)
    await this.add("b-0", "b", size=1)
    await this.add("b-1", "b", size=1)
    await this.ready("b-0", "False")
    await this.ready("b-1", "False")
    await this.budget(0)
    async with this.kubelet():
        assert await this.drain(timeout=5) is Result.TIMEOUT
    assert sorted(this.of(What.EVICTED)) == ["b-0", "b-1"]
    assert [event.pod for event in this.draining.left()] == ["a-0"]  # type: ignore[union-attr]


@simulated
async def test_a_pod_of_the_same_name_is_never_asked_for(this: World) -> None:
    await this.set_up("n", "m")
    await this.add("a")
    await this.budget(0)

    async def replaced() -> None:
        await asyncio.sleep(10)
        await this.client.delete(PODS, "a", SPACE, grace_period_seconds=0)
        await this.add("a", node="m")
        await this.allow(1)

    async with asyncio.TaskGroup() as group:
        group.create_task(replaced())
        assert await this.drain() is Result.DRAINED
    found = await this.client.get(PODS, "a", SPACE)
    assert found["spec"]["nodeName"] == "m"
    assert "deletionTimestamp" not in found["metadata"]


@simulated
async def test_a_refusal_that_no_budget_explains_is_asked_again_later_and_later(
    this: World,
) -> None:
    await this.set_up()
    await this.add("a")
    this.instead = lambda _name: refusal(429, "a webhook says no") if len(this.asked) < 5 else None
    async with this.kubelet():
        assert await this.drain() is Result.DRAINED
    assert len(this.asked) == 5
    refused = [at for at, _what, _name in this.told(What.REFUSED)]
    gaps = [after - before for before, after in pairwise(refused)]
    assert gaps == sorted(gaps)
    assert refused[-1] < 10


@simulated
async def test_a_server_that_has_too_much_to_do_is_asked_when_it_says(this: World) -> None:
    await this.set_up()
    await this.add("a")
    this.instead = lambda _name: (
        refusal(429, "busy", retry_after=7) if len(this.asked) == 1 else None
    )
    async with this.kubelet():
        assert await this.drain() is Result.DRAINED
    assert [at for at, _what, _name in this.told(What.EVICTING)] == [7]


@simulated
async def test_an_error_is_named_and_does_not_stop_the_others(this: World) -> None:
    await this.set_up()
    for name in ("a", "b"):
        await this.add(name)
    this.instead = lambda name: refusal(403, "you may not") if name == "a" else None
    async with this.kubelet():
        assert await this.drain() is Result.ERRORS
    assert (this.of(What.FAILED), this.of(What.EVICTED)) == (["a"], ["b"])
    assert this.asked.count("a") == 1
    assert this.draining is not None
    [left] = this.draining.left()
    assert (left.pod, left.message) == ("a", "you may not")


@simulated
async def test_two_budgets_on_a_pod_fail_until_one_of_them_goes(this: World) -> None:
    await this.set_up()
    for name in ("a", "b"):
        await this.add(name)
    await this.budget(1, "one")
    await this.budget(1, "two")
    assert await this.drain() is Result.ERRORS
    messages = [event.message for _at, event in this.events if event.what is What.FAILED]
    assert all(message.startswith("pdb/one and pdb/two cover it") for message in messages)
    assert len(messages) == 2


@simulated
async def test_a_webhook_that_fails_is_asked_again_and_not_forever(this: World) -> None:
    await this.set_up()
    await this.add("a")
    this.instead = lambda _name: refusal(500, "failed calling webhook")
    assert await this.drain() is Result.ERRORS
    assert len(this.asked) == FAILURES
    this.asked.clear()
    this.instead = lambda _name: (
        refusal(500, "failed calling webhook") if len(this.asked) < 3 else None
    )
    async with this.kubelet():
        assert await this.drain() is Result.DRAINED


@simulated
async def test_a_pod_of_a_terminating_namespace_is_waited_for(this: World) -> None:
    await this.set_up()
    await this.add("a")
    cause = [{"reason": "NamespaceTerminating"}]
    this.instead = lambda _name: refusal(403, "it is being terminated", cause)

    async def ends() -> None:
        await asyncio.sleep(10)
        await this.client.delete(PODS, "a", SPACE, grace_period_seconds=0)

    async with asyncio.TaskGroup() as group:
        group.create_task(ends())
        assert await this.drain() is Result.DRAINED
    assert this.asked == ["a"]


@simulated
async def test_it_ends_in_time_and_says_what_blocks(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)
    assert await this.drain(timeout=30) is Result.TIMEOUT
    assert this.draining is not None
    assert this.draining.blocking() == [
        "pdb/b in ns: 1 of 3 pods is available, the budget requires 1",
    ]
    assert [event.pod for event in this.draining.left()] == ["a"]


@simulated
async def test_it_stops_when_it_is_told_to(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)
    task = asyncio.create_task(this.drain())
    await asyncio.sleep(5)
    assert this.draining is not None
    this.draining.stop.set()
    assert await task is Result.INTERRUPTED


@simulated
async def test_a_pod_that_terminates_for_too_long_is_not_waited_for(this: World) -> None:
    await this.set_up()
    await this.add("a")
    assert await this.drain(skip_wait_for_delete_timeout=30, timeout=600) is Result.DRAINED


@simulated
async def test_a_pod_that_is_bound_late_goes_and_a_new_one_is_left_alone(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)
    waits = pod("late", labels={"app": "x"}, ownerReferences=[OWNER])
    waits["spec"]["schedulerName"] = "none"
    await this.client.create(PODS, waits, SPACE)

    async def later() -> None:
        await asyncio.sleep(5)
        binding = {"target": {"kind": "Node", "name": "n"}}
        await this.client.create_subresource(PODS, "late", SPACE, "binding", binding)
        await this.add("new")
        await asyncio.sleep(5)
        await this.allow(1)

    async with this.kubelet(), asyncio.TaskGroup() as group:
        group.create_task(later())
        assert await this.drain() is Result.DRAINED
    assert sorted(this.of(What.EVICTED)) == ["a", "late"]
    assert this.of(What.LATE) == ["new"]


@simulated
async def test_a_server_that_cannot_be_reached_is_asked_until_it_can(this: World) -> None:
    await this.set_up()
    await this.add("a")

    def away(_name: str) -> Response | None:
        if len(this.asked) < 20:
            raise Unreachable("no answer")
        return None

    this.instead = away
    async with this.kubelet():
        assert await this.drain() is Result.DRAINED
    assert len(this.of(What.UNREACHABLE)) == 1
    assert len(this.asked) == 20
    assert (await this.client.get(NODES, "n"))["metadata"]["name"] == "n"
