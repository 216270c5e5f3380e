"""A drain of a node that holds pods of all shards: first with Intact, then without."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from rich.box import SIMPLE_HEAD
from rich.table import Table

from demo import shards
from demo.budgets import NAME, BudgetKind
from demo.errors import DemoError
from demo.picture import take_picture
from demo.screen import Screen
from demo.stage import Child, Stage
from demo.view import BudgetView
from demo.waiting import TICK, until
from demo.watch import NODES, GroupsDown, Watch
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.resources import NAMESPACES, PODS, STATEFUL_SETS

T = TypeVar("T")

_WITHIN = 60.0
_DRAIN_WITHIN = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one act showed."""

    node: str
    pods: int
    """On that node, before the drain."""
    worst: int
    seconds: float
    refused: int
    """Evictions that were answered with 429; kubectl asked for them again."""
    events: int
    """Changes of pods that were counted."""


async def play(stage: Stage, screen: Screen, kind: BudgetKind, *, keep: bool) -> dict[str, object]:
    """Both acts, and a summary; with `keep`, only the first act, then wait until cancelled."""
    await stage.start_intact()
    async with stage.client() as client:
        down = GroupsDown(shards.SHARDS, shards.GROUP_KEY, shards.PODS_EACH)
        watch = Watch(client, shards.NAMESPACE, down, kind.resource)
        async with watch.running():
            drama = _Drain(stage, screen, client, watch, kind)
            await drama.set_up()
            with_intact = await drama.drain("with Intact")
            if keep:
                await drama.hold()
            await drama.tear_down()
            without = await drama.drain("without Intact")
    screen.print(_table(with_intact, without))
    return {
        "scenario": kind.scenario,
        "groups": len(shards.SHARDS),
        "with_intact": asdict(with_intact),
        "without_intact": asdict(without),
    }


class _Drain:
    def __init__(
        self, stage: Stage, screen: Screen, client: Client, watch: Watch, kind: BudgetKind
    ) -> None:
        self._kind = kind
        self._stage = stage
        self._screen = screen
        self._client = client
        self._watch = watch
        self._title = ""
        self._begun = time.monotonic()
        self._kubectl: Child | None = None
        self._enforced = False
        self._footer = ""
        watch.on_change(self._show)

    async def set_up(self) -> None:
        count = f"{len(shards.SHARDS)} shards of {shards.PODS_EACH} pods"
        kind = self._kind.resource.kind
        self._screen.say(f"creating {count} and a {kind}: at most one shard may be down")
        await self._client.create(NAMESPACES, shards.namespace())
        for shard in shards.SHARDS:
            body = shards.stateful_set(shard)
            await self._client.create(STATEFUL_SETS, body, shards.NAMESPACE)
        await self._client.create(self._kind.resource, self._kind.body, shards.NAMESPACE)
        await self._until(self._budget_works, "the budget to be enforced")
        self._enforced = True

    async def drain(self, how: str) -> Outcome:
        """Drain the node with the most pods, and wait until all shards are back."""
        await self._until(self._all_up, "all shards to be up")
        node, pods = self._fullest_node()
        self._title = f"kubectl drain {node}, {how}"
        self._screen.say(f"{self._title}: it holds {pods} pods, of all {len(shards.SHARDS)} shards")
        self._watch.down.begin()
        with self._screen.act():
            self._begun = time.monotonic()
            self._kubectl = self._stage.kubectl(
                *("drain", node, "--ignore-daemonsets", f"--timeout={_DRAIN_WITHIN}s")
            )
            code = await self._while_shown(self._kubectl.ended())
            seconds = time.monotonic() - self._begun
            if code != 0:
                raise DemoError(self._kubectl.failure())
            await self._until(self._all_up, "all shards to be up again")
            self._show()
        self._watch.check()
        refused = sum("will retry after" in line for line in self._kubectl.lines())
        self._kubectl = None
        worst = self._watch.down.worst
        self._screen.say(f"drained in {seconds:.1f} s; groups down at worst: {worst}")
        return Outcome(node, pods, worst, round(seconds, 1), refused, self._watch.down.events)

    async def hold(self) -> None:
        """Until cancelled. The picture goes on, and shows what the user does meanwhile."""
        self._screen.invite(
            f"export KUBECONFIG={self._stage.kubeconfig} PATH={self._stage.binaries}:$PATH",
            f"kubectl get {self._kind.short} -n {shards.NAMESPACE}",
            f"kubectl drain {self._fullest_node()[0]}",
        )
        self._title = "protected by Intact"
        self._footer = "Ctrl-C stops and removes everything"
        self._watch.down.begin()
        with self._screen.act():
            await self._while_shown(asyncio.Event().wait())

    async def tear_down(self) -> None:
        """Uninstall Intact, and spread the pods over all nodes again, as before the first act."""
        self._screen.say("stopping and uninstalling Intact")
        await self._stage.remove_intact()
        self._enforced = False
        if self._kind.alone is not None:
            self._screen.say(
                f"the budget counts pods now: maxUnavailable {shards.PODS_EACH}, as many as a shard"
            )
            resource = self._kind.resource
            await self._client.patch(resource, self._kind.alone, NAME, shards.NAMESPACE)
        for node in self._watch.nodes:
            if node.spec.unschedulable:
                body = {"spec": {"unschedulable": None}}
                await self._client.patch(NODES, body, node.metadata.name)
        await self._until(lambda: not self._cordoned(), "the nodes to be schedulable")
        before = {pod.metadata.uid for pod in self._watch.pods}
        await self._delete_pods()
        await self._until(
            lambda: not any(pod.metadata.uid in before for pod in self._watch.pods),
            "new pods in the place of the old ones",
        )

    async def _delete_pods(self) -> None:
        # The API server takes a moment to notice that the webhooks are gone.
        deadline = time.monotonic() + _WITHIN
        while True:
            try:
                return await self._client.delete_collection(PODS, shards.NAMESPACE)
            except KubeError as error:
                if time.monotonic() > deadline:
                    raise DemoError(f"the pods cannot be deleted: {error}") from error
            await asyncio.sleep(TICK)

    def _budget(self) -> BudgetView | None:
        found = self._watch.budgets.get(shards.NAMESPACE, NAME)
        return self._kind.figures(found) if found is not None else None

    def _budget_works(self) -> bool:
        """Whether the budget counts all shards as up."""
        budget = self._budget()
        return budget is not None and (budget.allowed, budget.total) == (1, len(shards.SHARDS))

    def _all_up(self) -> bool:
        return not self._watch.down.now and (self._budget_works() or not self._enforced)

    def _cordoned(self) -> list[str]:
        return [node.metadata.name for node in self._watch.nodes if node.spec.unschedulable]

    def _fullest_node(self) -> tuple[str, int]:
        """The node with the most pods, and how many."""
        counts = Counter(pod.spec.node_name for pod in self._watch.pods)
        node = min(counts, key=lambda name: (-counts[name], name))
        found = {
            pod.metadata.labels.get(shards.GROUP_KEY)
            for pod in self._watch.pods
            if pod.spec.node_name == node
        }
        if found != set(shards.SHARDS):
            raise DemoError(f"{node} holds pods of {sorted(map(str, found))} only")
        return node, counts[node]

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
            take_picture(
                self._watch,
                title=self._title,
                seconds=time.monotonic() - self._begun,
                budget=self._budget() if self._enforced else None,
                output=self._kubectl.lines() if self._kubectl else (),
                footer=self._footer,
            )
        )


def _table(with_intact: Outcome, without: Outcome) -> Table:
    table = Table(box=SIMPLE_HEAD, title_justify="left")
    table.add_column("kubectl drain")
    table.add_column("with Intact", justify="right")
    table.add_column("without Intact", justify="right")
    groups = len(shards.SHARDS)
    rows: list[tuple[str, Callable[[Outcome], str]]] = [
        ("node, pods on it", lambda each: f"{each.node}, {each.pods}"),
        ("groups down at worst", lambda each: f"{each.worst} of {groups}"),
        ("evictions refused (429), retried", lambda each: str(each.refused)),
        ("drained after", lambda each: f"{each.seconds:.1f} s"),
    ]
    for name, show in rows:
        table.add_row(name, show(with_intact), show(without))
    return table
