"""A coordinated rollout: first one that succeeds, then one whose decode never becomes ready."""

import asyncio
from collections.abc import Callable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from demo.errors import DemoError
from demo.progress import Progress
from demo.screen import Screen
from demo.stage import Stage
from demo.waiting import until
from demo.watch import following
from intact.cli.rbg.standing import Standing, standing
from intact.cli.rbg.tree import lines
from intact.kube.client import Client, PatchType
from intact.kube.reflector import Reflector
from intact.kube.resources import NAMESPACES, PODS, RBGS, untyped
from intact.kube.store import Store
from intact.model.pod import Pod
from intact.model.pod_state import is_gone, is_ready
from intact.model.rbg import RoleBasedGroup
from intact.sandbox.scene import roles
from intact.sandbox.scene.shards import namespace

_WITHIN = 120.0
GROUPS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)


async def play(
    stage: Stage, screen: Screen, *, keep: bool = False, briefly: bool = False
) -> list[dict[str, object]]:
    """All acts, and a summary; `briefly`, only the first act; with `keep`, wait after that until
    cancelled."""
    async with stage.cluster() as client:
        await stage.start_intact()
        drama = _Rollout(stage, screen, client)
        async with following(*drama.reflectors):
            return [await drama.play(keep=keep, briefly=briefly)]


class _Rollout:
    def __init__(self, stage: Stage, screen: Screen, client: Client) -> None:
        self._stage = stage
        self._screen = screen
        self._client = client
        self._groups: Store[RoleBasedGroup] = Store()
        self._pods: Store[Pod] = Store()
        self._progress = Progress(self._pods)
        self._title = ""
        self._clock = asyncio.get_running_loop().time
        self._begun = self._clock()
        self.reflectors: tuple[Reflector[Any], ...] = (
            Reflector(client, RBGS, self._groups, namespace=roles.NAMESPACE),
            Reflector(client, PODS, self._pods, namespace=roles.NAMESPACE),
        )

    async def play(self, *, keep: bool, briefly: bool) -> dict[str, object]:
        sizes = ", ".join(f"{number} {name}" for name, number in roles.ROLES.items())
        self._screen.say(
            f"creating a RoleBasedGroup: {sizes}; "
            f"skew and unavailable replicas at most {roles.LIMIT} each"
        )
        await self._client.create(NAMESPACES, namespace(roles.NAMESPACE))
        await self._client.create(GROUPS, roles.group(self._stage.slowed), roles.NAMESPACE)
        await self._until(lambda: self._stands(Standing.DONE), "all pods to be ready")
        well = await self._act("a new image for both roles", self._roll_out, Standing.DONE)
        if keep:
            self._hold()
            await asyncio.Event().wait()
        acts = {"rollout": well}
        if not briefly:
            acts["failure"] = await self._act(
                "decode never becomes ready", self._roll_out_broken, Standing.STALLED
            )
            acts["undo"] = await self._act("intact rbg undo", self._undo, Standing.DONE)
        self._screen.print(_table(acts))
        return {"scenario": "rollout", **acts}

    async def _act(self, title: str, begin: Callable[[], Any], end: Standing) -> dict[str, object]:
        self._title = title
        self._screen.say(title)
        before = self._group()
        with self._screen.act():
            self._begun = self._clock()
            await begin()
            await self._until(
                lambda: (
                    self._group().metadata.generation > before.metadata.generation
                    and self._revisions() != _revisions_of(before)
                ),
                "the rollout to begin",
            )
            self._progress.begin(self._revisions())
            await self._until(lambda: self._stands(end), f"it to be {end.name.lower()}")
            self._show()
        seconds = self._clock() - self._begun
        found = {
            "seconds": round(seconds, 1),
            "updated": self._group().status.updated,
            "skew_percent": round(float(self._progress.skew * 100), 1),
            "unavailable": dict(self._progress.unavailable),
        }
        self._screen.say(f"{title}: {end.name.lower()} after {seconds:.1f} s")
        return found

    def _group(self) -> RoleBasedGroup:
        found = self._groups.get(roles.NAMESPACE, roles.GROUP)
        if found is None:
            raise DemoError(f"the RoleBasedGroup {roles.GROUP} is gone")
        return found

    def _stands(self, wanted: Standing) -> bool:
        found = self._groups.get(roles.NAMESPACE, roles.GROUP)
        return found is not None and standing(found) is wanted

    def _revisions(self) -> dict[str, str]:
        return _revisions_of(self._group())

    async def _roll_out(self) -> None:
        await self._patch(*(self._template(2) for _ in roles.ROLES))

    async def _roll_out_broken(self) -> None:
        await self._patch(*(self._template(3, broken=each) for each in (False, True)))

    def _template(self, version: int, *, broken: bool = False) -> roles.Json:
        return roles.template(f"example.org/llm:{version}", self._stage.slowed, broken=broken)

    async def _patch(self, *templates: roles.Json) -> None:
        patch = [
            {"op": "replace", "path": f"/spec/roles/{index}/template", "value": each}
            for index, each in enumerate(templates)
        ]
        await self._client.patch(GROUPS, patch, roles.GROUP, roles.NAMESPACE, type=PatchType.JSON)

    async def _undo(self) -> None:
        await self._stage.undo(roles.GROUP, roles.NAMESPACE)

    def _hold(self) -> None:
        self._screen.invite(
            *self._stage.way_in(),
            f"intact rbg status {roles.GROUP} -n {roles.NAMESPACE} -w",
        )

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        await until(self._stage, condition, what, _WITHIN, self._show)

    def _show(self) -> None:
        found = self._groups.get(roles.NAMESPACE, roles.GROUP)
        if found is None:
            return
        text = Text()
        for name in roles.ROLES:
            text.append(f"{name:>8} ")
            for pod in self._progress.of(name):
                text.append(*self._symbol(name, pod))
            text.append("\n")
        tree = lines(found, {})
        text.append("\n" + "\n".join(tree))
        legend = "● ready  ◐ not ready  ○ terminating  green: new, blue: old"
        seconds = f"{self._clock() - self._begun:.1f} s"
        panel = Panel(text, title=self._title, subtitle=f"{legend}   {seconds}", title_align="left")
        self._screen.show_panel(panel, tree[0])

    def _symbol(self, role: str, pod: Pod) -> tuple[str, str]:
        colour = "green" if self._progress.is_new(role, pod) else "blue"
        if is_gone(pod):
            return "○", "red"
        return ("●", colour) if is_ready(pod) else ("◐", colour)


def _revisions_of(group: RoleBasedGroup) -> dict[str, str]:
    return {one.name: one.revision for one in group.status.role_statuses}


def _table(acts: dict[str, dict[str, object]]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("RoleBasedGroup")
    for column in ("took", "updated", "skew at worst", "unavailable at worst"):
        table.add_column(column, justify="right")
    for name, act in acts.items():
        unavailable = act["unavailable"]
        assert isinstance(unavailable, dict)
        table.add_row(
            name,
            f"{act['seconds']} s",
            str(act["updated"]),
            f"{act['skew_percent']} %",
            ", ".join(f"{role} {number}" for role, number in unavailable.items()),
        )
    return table
