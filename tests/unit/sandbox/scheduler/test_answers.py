"""What the scheduler writes, and that it writes it once."""

from intact.kube.client import Client
from intact.sandbox import MemoryApi, wall_clock
from intact.sandbox.scheduler.answers import Answers
from intact.sandbox.scheduler.pods import pod_info
from intact.sandbox.scheduler.reasons import Refusals
from tests.support.objects import PODS, pod


def refusals(nominated: str = "") -> Refusals:
    found = Refusals(nominated=nominated)
    found.add(("Insufficient cpu",), resolvable=True)
    return found


async def test_a_reason_is_written_once_and_again_when_it_changes(
    api: MemoryApi, client: Client
) -> None:
    answers = Answers(api, wall_clock())
    info = pod_info(await client.create(PODS, pod("p"), "default"))
    await answers.report(info, refusals())
    revision = api.revision
    await answers.report(info, refusals())
    assert api.revision == revision
    await answers.report(info, refusals("x"))
    status = (await client.get(PODS, "p", "default"))["status"]
    assert status["nominatedNodeName"] == "x"
    assert status["conditions"][0]["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    await answers.report(info, refusals())
    status = (await client.get(PODS, "p", "default"))["status"]
    assert "nominatedNodeName" not in status


async def test_pods_that_are_gone_are_no_trouble(api: MemoryApi, client: Client) -> None:
    answers = Answers(api, wall_clock())
    info = pod_info(await client.create(PODS, pod("p"), "default"))
    assert await answers.bind(info, "x")
    assert not await answers.bind(info, "y")
    await client.delete(PODS, "p", "default", grace_period_seconds=0)
    revision = api.revision
    await answers.report(info, refusals())
    await answers.evict(info)
    assert not await answers.bind(info, "x")
    assert api.revision == revision


async def test_a_victim_is_marked_and_deleted(api: MemoryApi, client: Client) -> None:
    answers = Answers(api, wall_clock())
    info = pod_info(await client.create(PODS, pod("p", node="x"), "default"))
    await answers.evict(info)
    found = await client.get(PODS, "p", "default")
    assert found["metadata"]["deletionTimestamp"]
    (condition,) = found["status"]["conditions"]
    assert condition["reason"] == "PreemptionByScheduler"
