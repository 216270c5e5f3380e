"""The loop of the scheduler: it follows pods and nodes, and binds one pod after the other."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_terminating
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.controller import Key
from intact.sandbox.controllers.pod_groups import group_of
from intact.sandbox.scheduler.accounts import Accounts
from intact.sandbox.scheduler.answers import NAME, Answers
from intact.sandbox.scheduler.budgets import violating
from intact.sandbox.scheduler.gangs import Gangs
from intact.sandbox.scheduler.placement import Placer
from intact.sandbox.scheduler.pods import PodInfo, pod_info
from intact.sandbox.scheduler.preemption import preemption
from intact.sandbox.scheduler.reasons import Refusals
from intact.sandbox.scheduler.siblings import Siblings
from intact.sandbox.scheduler.waiting import WaitingPods

_RETRY = 1.0
"""Seconds after which a pod that could not be bound is tried again."""


class Scheduler:
    """With `gangs`, the pods of a PodGroup are scheduled as its policy says."""

    def __init__(
        self, api: MemoryApi, clock: Callable[[], datetime], *, gangs: bool = False
    ) -> None:
        self.accounts = Accounts()
        self._with_gangs = gangs
        self._gangs: Gangs | None = None
        self._api = api
        self._answers = Answers(api, clock)
        self._nominated: dict[str, str] = {}
        """Nodes that are being freed for waiting pods, by UID."""
        self._changed = asyncio.Event()
        self._waiting = WaitingPods(self._changed.set)

    async def run(self) -> None:
        """Until cancelled."""
        siblings = Siblings(self._api)
        if self._with_gangs:
            self._gangs = Gangs(self._api, self._put)
        placer = Placer(self.accounts, siblings.of)
        ends = [
            siblings.end,
            self._api.follow("namespaces", self._namespace_changed),
            self._api.follow("nodes", self._node_changed),
            self._api.follow("pods", self._pod_changed),
        ]
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._answers.run(), name="events of the scheduler")
                await self._schedule(placer)
        finally:
            for end in ends:
                end()
            if self._gangs is not None:
                self._gangs.end()

    async def _schedule(self, placer: Placer) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while (pod := self._waiting.pop()) is not None:
                await self._place(placer, pod)

    async def _place(self, placer: Placer, pod: PodInfo) -> None:
        """Find a node for the pod; with it, for those of its gang that wait."""
        key = self._group_of(pod.namespace, pod.spec)
        if self._is_held(key):
            self._waiting.drop(pod.uid)
            return
        together, missing = self._gang_of(pod, key)
        if pod.uid in self._nominated:
            self.accounts.remove_pod(pod.uid)  # it does not stand in its own way
        nodes: dict[str, str] = {}
        refused: dict[str, Refusals] = {}
        for each in together:
            found = placer.place(each)
            if found.node:
                nodes[each.uid] = found.node
                self.accounts.put_pod(each, found.node)
            else:
                refused[each.uid] = found.refusals
        if len(nodes) < missing:
            for uid in nodes:
                self.accounts.remove_pod(uid)
                refused[uid] = Refusals(is_of_gang=True)
        for each in together:
            if each.uid in refused:
                self._waiting.set_aside(each.uid, refused[each.uid])
                if key is None:
                    await self._preempt(placer, each, refused[each.uid])
                await self._answers.report(each, refused[each.uid])
            else:
                await self._bind(each, nodes[each.uid])
        if key is not None and missing > 0:
            await self._answers.report_group(key, scheduled=len(nodes) >= missing)

    def _group_of(self, namespace: str, spec: Json) -> Key | None:
        """The PodGroup that decides about a pod."""
        if self._gangs is None:
            return None
        return group_of({"metadata": {"namespace": namespace}, "spec": spec})

    def _is_held(self, key: Key | None) -> bool:
        return self._gangs is not None and key is not None and self._gangs.holds(key)

    def _gang_of(self, pod: PodInfo, key: Key | None) -> tuple[list[PodInfo], int]:
        """The pods that are placed with this one, and how many of them need a node."""
        if self._gangs is None or key is None:
            return [pod], 0
        members = self._gangs.members(key)
        missing = self._gangs.need(key) - sum(bool(self.accounts.node_of(uid)) for uid in members)
        if missing <= 1:
            return [pod], missing
        return self._waiting.known(members), missing

    async def _preempt(self, placer: Placer, pod: PodInfo, refusals: Refusals) -> None:
        """If pods of a lower priority are in the way: delete them, and keep their room."""
        if pod.spec.get("preemptionPolicy") == "Never":
            return
        node = self._nominated.get(pod.uid, "")
        if self._is_being_freed(node, pod):
            refusals.nominated, refusals.waits_for_victims = node, True
            self.accounts.put_pod(pod, node)
            return
        self._nominated.pop(pod.uid, None)
        found = preemption(
            pod, self.accounts, placer, refusals, lambda pods: violating(self._api, pods)
        )
        if found is None:
            return
        refusals.nominated = self._nominated[pod.uid] = found.node
        self.accounts.put_pod(pod, found.node)
        for victim in found.victims:
            await self._answers.evict(victim)

    def _is_being_freed(self, node: str, pod: PodInfo) -> bool:
        account = self.accounts.nodes.get(node)
        return account is not None and any(
            each.is_terminating and each.priority < pod.priority for each in account.pods.values()
        )

    async def _bind(self, pod: PodInfo, node: str) -> None:
        self._waiting.drop(pod.uid)
        self._nominated.pop(pod.uid, None)
        if not await self._answers.bind(pod, node):
            self._forget(pod)

    def _forget(self, pod: PodInfo) -> None:
        """The pod was not bound: if it still waits for a node, try again."""
        current = self._api.peek("pods", pod.namespace, pod.name)
        if current is not None and current["metadata"]["uid"] == pod.uid:
            if current["spec"].get("nodeName"):
                return
            asyncio.get_running_loop().call_later(_RETRY, self._put, current)
        self._free(pod.uid)

    def _free(self, uid: str) -> None:
        """What the pod took of its node is there for others."""
        node = self.accounts.node_of(uid)
        if node:
            self.accounts.remove_pod(uid)
            self._waiting.pod_left(self.accounts.nodes.get(node))

    def _put(self, pod: Json) -> None:
        if self._api.peek("pods", pod["metadata"]["namespace"], pod["metadata"]["name"]) is pod:
            self._pod_changed(None, pod)

    def _namespace_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        labels = (new["metadata"].get("labels") or {}) if new is not None else None
        self.accounts.put_namespace(obj["metadata"]["name"], labels)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self.accounts.remove_node(old["metadata"]["name"])
        elif old is None or _placing(old) != _placing(new):
            self.accounts.put_node(new)
            self._waiting.nodes_changed()

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None or is_finished(new):
            obj = new or old
            assert obj is not None
            self._remove(obj["metadata"]["uid"])
        elif new["spec"].get("nodeName"):
            if old is not None and self._is_bound(old, new):
                self._waiting.pod_placed()
            elif old is None or _taking(old) != _taking(new):
                self._account(new)
        elif _is_waiting(new) and not self._is_held(
            self._group_of(new["metadata"]["namespace"], new["spec"])
        ):
            if old is None or not _is_waiting(old) or _asking(old) != _asking(new):
                self._waiting.put(pod_info(new), self._priority(new["spec"]))
        else:
            self._remove(new["metadata"]["uid"])

    def _is_bound(self, old: Json, new: Json) -> bool:
        """Whether the change is our own binding, which is in the books already."""
        node = self.accounts.node_of(new["metadata"]["uid"])
        return (
            node == new["spec"]["nodeName"]
            and not old["spec"].get("nodeName")
            and _asking(old) == _asking(new)
        )

    def _remove(self, uid: str) -> None:
        self._waiting.drop(uid)
        self._nominated.pop(uid, None)
        self._free(uid)

    def _account(self, pod: Json) -> None:
        info = pod_info(pod)
        self._waiting.drop(info.uid)
        self.accounts.put_pod(info, pod["spec"]["nodeName"])
        if info.is_terminating:
            self._waiting.pod_leaves()
        else:
            self._waiting.pod_placed()

    def _priority(self, spec: Json) -> int:
        if "priority" in spec:
            return int(spec["priority"])
        name = spec.get("priorityClassName")
        found = self._api.peek("priorityclasses.scheduling.k8s.io", "", name) if name else None
        return int(found["value"]) if found is not None else 0


def _is_waiting(pod: Json) -> bool:
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and not is_terminating(pod)
        and spec.get("schedulerName", NAME) == NAME
    )


def _placing(node: Json) -> tuple[object, ...]:
    """What of a node decides where pods go."""
    spec = node.get("spec") or {}
    return (
        node["metadata"].get("labels"),
        spec.get("taints"),
        spec.get("unschedulable"),
        (node.get("status") or {}).get("allocatable"),
    )


def _asking(pod: Json) -> tuple[object, ...]:
    """What of a pod without a node decides where it goes."""
    meta = pod["metadata"]
    return meta["uid"], meta.get("generation"), meta.get("labels")


def _taking(pod: Json) -> tuple[object, ...]:
    """What of a pod with a node matters to others."""
    meta = pod["metadata"]
    resources = [
        (each.get("allocatedResources"), each["resources"])
        for each in pod["status"].get("containerStatuses") or ()
        if "resources" in each
    ]
    return (
        meta["uid"],
        meta.get("generation"),
        meta.get("labels"),
        is_terminating(pod),
        pod["spec"].get("nodeName"),
        is_finished(pod),
        resources,
    )
