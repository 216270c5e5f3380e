"""A drain of a node that holds pods of all shards: first with Intact, then without."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from rich.box import SIMPLE_HEAD
from rich.table import Table

from demo.budgets import BudgetKind
from demo.errors import DemoError
from demo.picture import nodes_of
from demo.protected import Protected
from demo.screen import Screen
from demo.stage import Drain, Stage
from demo.view import Picture
from demo.waiting import TICK, until
from demo.watch import NODES
from intact.kube.client import Client
from intact.sandbox.scene import shards

T = TypeVar("T")

_WITHIN = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one act showed under one budget."""

    node: str
    pods: int
    """On that node, before the drain."""
    worst: int
    seconds: float
    refused: int
    """Evictions that were answered with 429; kubectl asked for them again."""
    events: int
    """Changes of pods that were counted."""


async def play(
    stage: Stage, screen: Screen, *, kinds: Sequence[BudgetKind], keep: bool = False
) -> list[dict[str, object]]:
    """Both acts, and a summary for each kind of budget; with `keep`, only the first act, then wait
    until cancelled."""
    async with stage.cluster() as client, AsyncExitStack() as watches:
        await stage.start_intact()
        protected = [Protected(stage, client, kind) for kind in kinds]
        for each in protected:
            await watches.enter_async_context(each.watch.running())
        drama = _Drain(stage, screen, client, protected)
        await drama.set_up()
        with_intact = await drama.drain("with Intact")
        if keep:
            await drama.hold()
        await drama.tear_down()
        without = await drama.drain("without Intact")
    screen.print(_table(kinds, with_intact, without))
    return [
        {
            "scenario": kind.scenario,
            "groups": len(shards.SHARDS),
            "with_intact": asdict(first),
            "without_intact": asdict(second),
        }
        for kind, first, second in zip(kinds, with_intact, without, strict=True)
    ]


class _Drain:
    def __init__(
        self, stage: Stage, screen: Screen, client: Client, protected: Sequence[Protected]
    ) -> None:
        self._stage = stage
        self._screen = screen
        self._client = client
        self._protected = protected
        self._watch = protected[0].watch
        self._title = ""
        self._clock = asyncio.get_running_loop().time
        self._begun = self._clock()
        self._kubectl: Drain | None = None
        self._footer = ""
        for each in protected:
            each.watch.on_change(self._show)

    async def set_up(self) -> None:
        count = f"{len(shards.SHARDS)} shards of {shards.PODS_EACH} pods"
        names = " and under a ".join(each.kind.resource.kind for each in self._protected)
        self._screen.say(f"creating {count} under a {names}: at most one shard may be down")
        for each in self._protected:
            await each.create()
        await self._until(lambda: all(each.works() for each in self._protected), "the budgets")
        for each in self._protected:
            each.enforced = True

    async def drain(self, how: str) -> list[Outcome]:
        """Drain the node with the most pods, and wait until all shards are back."""
        await self._until(self._all_up, "all shards to be up")
        node = self._fullest_node()
        pods = [each.pods_on(node) for each in self._protected]
        self._title = f"kubectl drain {node}, {how}"
        self._screen.say(f"{self._title}: it holds {sum(pods)} pods, one or more of each shard")
        for each in self._protected:
            each.watch.down.begin()
        with self._screen.act():
            self._begun = self._clock()
            self._kubectl = self._stage.drain(node)
            await self._while_shown(self._kubectl.done())
            seconds = self._clock() - self._begun
            await self._until(self._all_up, "all shards to be up again")
            self._show()
        lines, self._kubectl = self._kubectl.lines(), None
        self._screen.say(f"drained in {seconds:.1f} s")
        outcomes = []
        for each, count in zip(self._protected, pods, strict=True):
            each.watch.check()
            down = each.watch.down
            refused = each.refusals(lines)
            outcomes.append(
                Outcome(node, count, down.worst, round(seconds, 1), refused, down.events)
            )
        return outcomes

    async def hold(self) -> None:
        """Until cancelled. The picture goes on, and shows what the user does meanwhile."""
        self._screen.invite(
            *self._stage.way_in(),
            *(f"kubectl get {one.kind.short} -n {one.kind.namespace}" for one in self._protected),
            f"kubectl drain {self._fullest_node()}",
        )
        self._title = "protected by Intact"
        self._footer = "Ctrl-C stops and removes everything"
        for each in self._protected:
            each.watch.down.begin()
        with self._screen.act():
            await self._while_shown(asyncio.Event().wait())

    async def tear_down(self) -> None:
        """Uninstall Intact, and spread the pods over all nodes again, as before the first act."""
        self._screen.say("stopping and uninstalling Intact")
        await self._stage.remove_intact()
        for each in self._protected:
            each.enforced = False
            if each.kind.alone is not None:
                self._screen.say(
                    f"the {each.kind.resource.kind} counts pods now: maxUnavailable "
                    f"{shards.PODS_EACH}, as many as a shard has"
                )
                await each.leave_alone()
        for node in self._watch.nodes:
            if node.spec.unschedulable:
                body = {"spec": {"unschedulable": None}}
                await self._client.patch(NODES, body, node.metadata.name)
        await self._until(lambda: not self._cordoned(), "the nodes to be schedulable")
        for each in self._protected:
            renewed = await each.renew_pods(_WITHIN)
            await self._until(renewed, "new pods in the place of the old ones")

    def _all_up(self) -> bool:
        return all(each.is_up() for each in self._protected)

    def _cordoned(self) -> list[str]:
        return [node.metadata.name for node in self._watch.nodes if node.spec.unschedulable]

    def _fullest_node(self) -> str:
        """The node with the most pods. It must hold pods of all shards."""
        counts: Counter[str] = Counter()
        for each in self._protected:
            counts.update(pod.spec.node_name for pod in each.watch.pods)
        node = min(counts, key=lambda name: (-counts[name], name))
        for each in self._protected:
            each.check_spread(node)
        return node

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        await until(self._stage, condition, what, _WITHIN, self._show)

    async def _while_shown(self, work: Coroutine[Any, Any, T]) -> T:
        """Show a picture each tick while the work goes on: the clock and kubectl's output change
        without an event of the watch."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                if problem := self._stage.intact_failure():
                    raise DemoError(problem)
                self._show()
                await asyncio.wait({task}, timeout=TICK)
            return task.result()
        finally:
            task.cancel()

    def _show(self) -> None:
        self._screen.show(
            Picture(
                title=self._title,
                seconds=self._clock() - self._begun,
                nodes=nodes_of(self._watch),
                sections=tuple(each.section() for each in self._protected),
                output=tuple(self._kubectl.lines()) if self._kubectl else (),
                footer=self._footer,
            )
        )


def _table(
    kinds: Sequence[BudgetKind], with_intact: Sequence[Outcome], without: Sequence[Outcome]
) -> Table:
    node, pods = with_intact[0].node, sum(each.pods for each in with_intact)
    table = Table(box=SIMPLE_HEAD)
    table.add_column(f"kubectl drain {node}, {pods} pods")
    table.add_column("with Intact", justify="right")
    table.add_column("without Intact", justify="right")
    for kind, *both in zip(kinds, with_intact, without, strict=True):
        table.add_row(kind.resource.kind)
        table.add_row(
            "  groups down at worst", *(f"{one.worst} of {len(shards.SHARDS)}" for one in both)
        )
        table.add_row("  evictions refused (429), retried", *(str(one.refused) for one in both))
    table.add_row("drained after", *(f"{one[0].seconds:.1f} s" for one in (with_intact, without)))
    return table
