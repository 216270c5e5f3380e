"""What would be done."""

from intact.cli.drain.dry_run import ask_server, ordered, tell_order
from intact.cli.drain.events import Event, What
from intact.cli.drain.evictions import Evictions
from intact.cli.drain.options import Options
from intact.cli.drain.watching import Watching
from tests.unit.cli.drain.objects import picture, pod, pub
from tests.unit.cli.drain.world import SPACE, World, refusal, simulated


def test_the_order_is_that_of_the_drain() -> None:
    pods = [
        pod("a-0", "a"),
        pod("a-1", "a", node="other"),
        pod("b-0", "b"),
        pod("b-1", "b"),
        pod("c-0", "c"),
        pod("c-1", "c", node="other", ready=False),
    ]
    going = [one for one in pods if one.spec.node_name == "n"]
    units = ordered({"ns": picture(pods, pub())}, going)
    assert [unit.group for unit in units] == ["c", "b", "a"]
    told: list[Event] = []
    tell_order(units, told.append)
    assert [(event.what, event.pod) for event in told] == [
        (What.EVICTING, name) for name in ("c-0", "b-0", "b-1", "a-0")
    ]


@simulated
async def test_the_server_is_asked_for_every_pod(this: World) -> None:
    await this.set_up()
    for name in ("a", "b", "c"):
        await this.add(name)
    answers = {"b": refusal(429, "not now"), "c": refusal(403, "never")}
    this.instead = answers.get
    told: list[Event] = []
    watching = Watching(this.client, ["n"])
    async with watching.running():
        watching.namespaces = {SPACE}
        units = ordered(await watching.draw(), watching.on("n"))
    evictions = Evictions(this.client, Options(), dry_run=True)
    assert not await ask_server(units, evictions, told.append)
    assert {event.pod: event.what for event in told} == {
        "a": What.EVICTING,
        "b": What.REFUSED,
        "c": What.FAILED,
    }
    answers.pop("c")
    assert await ask_server(units, evictions, told.append)
