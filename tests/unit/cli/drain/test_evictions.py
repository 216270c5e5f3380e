"""How the server is asked."""

import asyncio

from intact.cli.drain.answers import Answer
from intact.cli.drain.evictions import AT_ONCE, Evictions
from intact.cli.drain.options import Options
from intact.cli.reading import DETAILED_PODS
from intact.kube.transport import Response
from tests.support.objects import PODS
from tests.unit.cli.drain.world import SPACE, World, refusal, simulated


@simulated
async def test_a_pod_is_asked_for_by_its_uid(this: World) -> None:
    await this.set_up()
    await this.add("a")
    old = await this.client.get(DETAILED_PODS, "a", SPACE)
    await this.client.delete(PODS, "a", SPACE, grace_period_seconds=0)
    await this.add("a")
    for options in (Options(), Options(disable_eviction=True)):
        said = await Evictions(this.client, options).ask(old)
        assert said.answer is Answer.GONE
    found = await this.client.get(PODS, "a", SPACE)
    assert "deletionTimestamp" not in found["metadata"]


@simulated
async def test_the_grace_period_is_passed_on(this: World) -> None:
    await this.set_up()
    await this.add("a")
    found = await this.client.get(DETAILED_PODS, "a", SPACE)
    said = await Evictions(this.client, Options(grace_period=7)).ask(found)
    assert said.answer is Answer.GRANTED
    after = await this.client.get(PODS, "a", SPACE)
    assert after["metadata"]["deletionGracePeriodSeconds"] == 7


@simulated
async def test_a_deletion_does_not_ask_budgets(this: World) -> None:
    await this.set_up()
    await this.add("a")
    await this.budget(0)
    found = await this.client.get(DETAILED_PODS, "a", SPACE)
    assert (await Evictions(this.client, Options()).ask(found)).answer is Answer.REFUSED
    deleting = Evictions(this.client, Options(disable_eviction=True))
    assert (await deleting.ask(found)).answer is Answer.GRANTED


@simulated
async def test_a_dry_run_changes_nothing(this: World) -> None:
    await this.set_up()
    await this.add("a")
    found = await this.client.get(DETAILED_PODS, "a", SPACE)
    said = await Evictions(this.client, Options(), dry_run=True).ask(found)
    assert said.answer is Answer.GRANTED
    after = await this.client.get(PODS, "a", SPACE)
    assert "deletionTimestamp" not in after["metadata"]


@simulated
async def test_a_conflict_over_the_same_pod_may_pass(this: World) -> None:
    await this.set_up()
    await this.add("a")
    found = await this.client.get(DETAILED_PODS, "a", SPACE)
    this.instead = lambda _name: refusal(409, "the object has been modified")
    assert (await Evictions(this.client, Options()).ask(found)).answer is Answer.FAILED


@simulated
async def test_only_so_many_are_asked_for_at_once(this: World) -> None:
    most = now = 0

    class Slow:
        async def evict(self, *_args: object, **_options: object) -> Response | None:
            nonlocal most, now
            now += 1
            most = max(most, now)
            await asyncio.sleep(1)
            now -= 1
            return None

    await this.set_up()
    await this.add("a")
    found = await this.client.get(DETAILED_PODS, "a", SPACE)
    evictions = Evictions(Slow(), Options())  # type: ignore[arg-type]
    await asyncio.gather(*(evictions.ask(found) for _ in range(3 * AT_ONCE)))
    assert most == AT_ONCE
