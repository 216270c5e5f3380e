"""The objects of a picture, kept up to date: a new set after each change. Pods and budgets are
watched. What they name, and whether Intact is up, is read when they name something else, and again
after a while: workloads are scaled, and an Intact that has ended leaves its Lease as it is."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from intact.cli.reading import DETAILED_PODS, REGISTRATION, complete
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.reflector import Reflector
from intact.kube.resources import NODES, PDBS, PUBS, RBGS
from intact.kube.store import Store
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Node
from intact.model.pod import DetailedPod
from intact.model.pub import PodUnavailableBudget
from intact.model.rbg import RoleBasedGroup
from intact.picture.objects import Objects

_TOGETHER = 0.2
"""Seconds for which changes are gathered: a rollout brings hundreds a second."""
_AGAIN = 15.0
"""Seconds after which what is not watched is read again."""
_SOON = 2.0
"""The same while the server does not answer."""
_LOOK_EVERY = 1.0
"""Seconds after which it is seen that the server does not answer."""
_HINT = "; -n NAMESPACE asks for one namespace only"


class Live:
    def __init__(self, client: Client, namespace: str, *, whole: bool = False) -> None:
        """With `whole`, nodes and RoleBasedGroups are followed, too."""
        self._due = 0.0
        """When what is not watched is read again."""
        self._client = client
        self._namespace = namespace
        self._pods = Reflector(client, DETAILED_PODS, Store[DetailedPod](), namespace=namespace)
        self._pdbs = Reflector(client, PDBS, Store[PodDisruptionBudget](), namespace=namespace)
        self._pubs = Reflector(client, PUBS, Store[PodUnavailableBudget](), namespace=namespace)
        self._nodes = Reflector(client, NODES, Store[Node]())
        self._rbgs = Reflector(client, RBGS, Store[RoleBasedGroup](), namespace=namespace)
        self._reflectors: list[Reflector[Any]] = [self._pods, self._pdbs, self._pubs]
        if whole:
            self._reflectors += [self._nodes, self._rbgs]
        self._changed = asyncio.Event()
        self._known: Objects | None = None
        self._named: Hashable = None
        self._unread = ""
        """Why what is not watched could not be read again."""

    @property
    def problem(self) -> str:
        """Why all of it may be old; empty while the server answers."""
        return self._pods.error or self._unread

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        # What a watch has to say about its troubles is for the log of an operator.
        logging.getLogger("intact").addHandler(logging.NullHandler())
        tasks = [asyncio.create_task(each.run()) for each in self._reflectors]
        try:
            await asyncio.gather(*(each.wait_tried() for each in self._reflectors))
            if error := self._pods.error:
                everywhere = not self._namespace and "forbidden" in error
                raise KubeError(error + (_HINT if everywhere else ""))
            for each in self._reflectors:
                each.store.subscribe(lambda _old, _new: self._changed.set())
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self) -> None:
        """As if something had changed."""
        self._changed.set()

    async def objects(self) -> AsyncGenerator[Objects, None]:
        """Now, after each change, and whenever all has been read again, without end."""
        while True:
            self._changed.clear()
            yield await self._now()
            await self._news()
            await asyncio.sleep(_TOGETHER)

    async def _news(self) -> None:
        """Something has changed, another problem is there, or it is time to read again."""
        clock, before = asyncio.get_running_loop().time, self.problem
        while self.problem == before and (left := self._due - clock()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, _LOOK_EVERY)):
                    await self._changed.wait()
                    return

    async def _now(self) -> Objects:
        pods, pdbs, pubs = list(self._pods.store), list(self._pdbs.store), list(self._pubs.store)
        found = Objects(pods=pods, pdbs=pdbs, pubs=pubs)
        named = _named(found)
        clock = asyncio.get_running_loop().time
        if self._known is None or clock() >= self._due or named != self._named:
            try:
                self._known = await complete(self._client, self._namespace, found)
                self._named, self._unread = named, ""
            except KubeError as error:
                if self._known is None:
                    raise
                self._unread = str(error)
            self._due = clock() + (_SOON if self._unread else _AGAIN)
        failed = {
            each.resource.full_name: each.error
            for each in self._reflectors
            if each.error and each.served
        }
        unread = {REGISTRATION: self._unread} if self._unread else {}
        unreadable = {**self._known.unreadable, **unread, **failed}
        return replace(
            self._known,
            pods=pods,
            pdbs=pdbs,
            pubs=pubs,
            nodes=list(self._nodes.store),
            rbgs=list(self._rbgs.store),
            unreadable=unreadable,
        )


def _named(found: Objects) -> Hashable:
    """What pods and budgets name and which is not watched."""
    references = {
        one.uid for pod in found.pods for one in pod.metadata.owner_references if one.controller
    }
    groups = {
        pod.spec.scheduling_group.pod_group_name
        for pod in found.pods
        if pod.spec.scheduling_group is not None
    }
    workloads = {
        pod.spec.named_workload.name for pod in found.pods if pod.spec.named_workload is not None
    }
    metas = [one.metadata for one in found.pubs] + [one.metadata for one in found.pdbs]
    budgets = {(one.uid, one.generation) for one in metas}
    return frozenset(references), frozenset(groups), frozenset(workloads), frozenset(budgets)
