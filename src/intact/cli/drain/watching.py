"""Watches pods, nodes and budgets of the whole cluster, and draws pictures of what matters.

What matters are the drained nodes, and the namespaces in which pods still wait to go. Nothing else
wakes the drain, and no other pods are drawn. Each namespace has a picture of its own, which is
drawn again only if something in it has changed.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from intact.cli.drain.units import BudgetKey, key_of
from intact.cli.reading import DETAILED_PODS, read_definitions
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import KubeError
from intact.kube.reflector import Reflector
from intact.kube.resources import NODES, PDBS, PUBS, Resource
from intact.kube.store import Store
from intact.model.base import View
from intact.model.meta import Object, ObjectMeta
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Node
from intact.model.pod import DetailedPod
from intact.model.pod_state import controller_uid
from intact.model.pub import PodUnavailableBudget
from intact.operator.webhook.configuration import MUTATING, NAME, VALIDATING
from intact.picture.budgets import BudgetPicture
from intact.picture.coverage import PDB, PUB
from intact.picture.objects import Objects
from intact.picture.picture import Picture, draw

T = TypeVar("T", bound=Object)
_BY_NODE = "node"
_BY_NAMESPACE = "namespace"


def is_live(budget: BudgetPicture) -> bool:
    """Whether its numbers follow its pods: then only they can change an answer of the server."""
    return budget.counted and (budget.kind == PDB or budget.intact is True)


class _Webhooks(View):
    metadata: ObjectMeta


def _light(resource: Resource[Any]) -> Resource[_Webhooks]:
    return replace(resource, type=_Webhooks)


class Watching:
    def __init__(self, client: Client, nodes: Collection[str]) -> None:
        self.pods: Store[DetailedPod] = Store({_BY_NODE: _node_of, _BY_NAMESPACE: _namespace_of})
        self.nodes: Store[Node] = Store()
        self.pdbs: Store[PodDisruptionBudget] = Store({_BY_NAMESPACE: _namespace_of})
        self.pubs: Store[PodUnavailableBudget] = Store({_BY_NAMESPACE: _namespace_of})
        self.unreadable: dict[str, str] = {}
        """The budgets that could not be read, and why."""
        self.namespaces: set[str] = set()
        """Those that matter."""
        self.wake = asyncio.Event()
        self.on_change: Callable[[BudgetKey], None] = lambda _key: None
        """Told of every budget that has changed, or of which a pod has."""
        self._client = client
        self._drained = frozenset(nodes)
        self._webhooks: list[tuple[Reflector[_Webhooks], Store[_Webhooks]]] = []
        self._reflectors: list[Reflector[Any]] = []
        self._pictures: dict[str, Picture] = {}
        self._changed: set[str] = set()
        """The namespaces whose picture is old."""
        self._definitions: Objects | None = None
        self._defined: set[str] = set()
        self._targets = False
        """Whether a budget names the owner of its pods."""
        self._stale = False

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Begins once everything is known. Raises `KubeError` if pods or nodes cannot be read."""
        tasks: list[asyncio.Task[None]] = []
        try:
            pods = self._reflect(tasks, DETAILED_PODS, self.pods)
            nodes = self._reflect(tasks, NODES, self.nodes)
            pdbs = self._reflect(tasks, PDBS, self.pdbs)
            wanted: list[Reflector[Any]] = [pdbs]
            if await self._serves_pubs():
                wanted.append(self._reflect(tasks, PUBS, self.pubs))
                for resource in (_light(VALIDATING), _light(MUTATING)):
                    store: Store[_Webhooks] = Store()
                    found = self._reflect(tasks, resource, store, fields=f"metadata.name={NAME}")
                    self._webhooks.append((found, store))
            for each in (pods, nodes):
                await each.wait_tried()
                if not each.store.synced:
                    raise KubeError(each.error or f"{each.name} cannot be read")
            for each in wanted:
                await each.wait_tried()
                if not each.store.synced:
                    self.unreadable[each.name] = each.error or ""
            for hooks, _store in self._webhooks:
                await hooks.wait_tried()
            self._subscribe()
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _reflect(
        self, tasks: list[asyncio.Task[None]], resource: Resource[T], store: Store[T], **how: str
    ) -> Reflector[T]:
        reflector = Reflector(self._client, resource, store, fields=how.get("fields", ""))
        self._reflectors.append(reflector)
        tasks.append(asyncio.create_task(reflector.run(), name=f"watch {resource.full_name}"))
        return reflector

    async def _serves_pubs(self) -> bool:
        try:
            return PUBS.plural in await served_resources(self._client, PUBS.api_version)
        except KubeError as error:
            self.unreadable[PUBS.full_name] = str(error)
            return False

    def _subscribe(self) -> None:
        self.pods.subscribe(self._pod_changed)
        self.pdbs.subscribe(lambda old, new: self._budget_changed(PDB, old, new))
        self.pubs.subscribe(lambda old, new: self._budget_changed(PUB, old, new))
        self.nodes.subscribe(self._node_changed)
        for _reflector, store in self._webhooks:
            store.subscribe(lambda _old, _new: self._webhooks_changed())

    @property
    def trouble(self) -> str:
        """Why what is known may be old; empty while all is well."""
        return next(
            (f"{each.name}: {each.error}" for each in self._reflectors[:2] if each.error), ""
        )

    @property
    def intact(self) -> bool | None:
        """Whether Intact's webhooks are registered; None if that is not known."""
        if not self._webhooks:
            return None if self.unreadable else False
        if any(len(store) for _reflector, store in self._webhooks):
            return True
        return False if all(store.synced for _reflector, store in self._webhooks) else None

    def on_drained(self) -> Iterator[DetailedPod]:
        """The pods that stand on the drained nodes."""
        for node in self._drained:
            yield from self.pods.by_index(_BY_NODE, node)

    def on(self, node: str) -> list[DetailedPod]:
        return self.pods.by_index(_BY_NODE, node)

    async def draw(self) -> Mapping[str, Picture]:
        """By namespace, of those that matter."""
        if self._definitions is None or self._stale:
            self._stale = False
            self._definitions = await self._read()
            self._pictures.clear()
        for name in self.namespaces:
            if name in self._changed or name not in self._pictures:
                self._changed.discard(name)
                self._pictures[name] = draw(self._objects(name, self._definitions))
        return self._pictures

    def _objects(self, namespace: str, known: Objects) -> Objects:
        """`known` has what is not watched."""

        def here(found: Sequence[T]) -> list[T]:
            return [one for one in found if one.metadata.namespace == namespace]

        return Objects(
            pods=self.pods.by_index(_BY_NAMESPACE, namespace),
            pdbs=self.pdbs.by_index(_BY_NAMESPACE, namespace),
            pubs=self.pubs.by_index(_BY_NAMESPACE, namespace),
            owners=[one for one in known.owners if one.namespace in ("", namespace)],
            pod_groups=here(known.pod_groups),
            workloads=here(known.workloads),
            leader_worker_sets=here(known.leader_worker_sets),
            intact=self.intact,
        )

    async def _read(self) -> Objects:
        """What defines the groups of what matters, and the owners above the pods."""
        found = [self._objects(name, Objects()) for name in self.namespaces]
        pods = [pod for each in found for pod in each.pods]
        pubs = [pub for each in found for pub in each.pubs]
        self._targets = any(pub.spec.target_ref is not None for pub in pubs)
        for pod in pods:
            self._defined.update(self._references(pod))
        return await read_definitions(self._client, Objects(pods=pods, pubs=pubs))

    def _references(self, pod: DetailedPod) -> set[str]:
        """What must have been read to know the group and the owners of a pod."""
        named, group = pod.spec.named_workload, pod.spec.scheduling_group
        found = {f"owner {controller_uid(pod)}"} if self._targets else set()
        if group is not None:
            found.add(f"group {pod.metadata.namespace}/{group.pod_group_name}")
        if named is not None:
            found.add(f"workload {pod.metadata.namespace}/{named.name}")
        return found

    def _pod_changed(self, old: DetailedPod | None, new: DetailedPod | None) -> None:
        found = new or old
        assert found is not None
        namespace = found.metadata.namespace
        if namespace in self.namespaces:
            if new is not None and not self._defined.issuperset(self._references(new)):
                self._stale = True
            self._changed.add(namespace)
            if namespace in self._pictures:
                covering = {
                    key_of(budget)
                    for pod in (old, new)
                    if pod is not None
                    for budget in self._pictures[namespace].covering(pod)
                    if not is_live(budget)
                }
                for key in covering:
                    self.on_change(key)
            self.wake.set()
        elif found.spec.node_name in self._drained:
            self.wake.set()

    def _budget_changed(
        self,
        kind: str,
        old: PodDisruptionBudget | PodUnavailableBudget | None,
        new: PodDisruptionBudget | PodUnavailableBudget | None,
    ) -> None:
        found = new or old
        assert found is not None
        meta = found.metadata
        if meta.namespace not in self.namespaces:
            return
        if isinstance(new, PodUnavailableBudget) and (
            not isinstance(old, PodUnavailableBudget) or old.spec != new.spec
        ):
            self._stale = True  # it may name a target whose owners were not read
        self._changed.add(meta.namespace)
        self.on_change((kind, meta.namespace, meta.name))
        self.wake.set()

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        name = (new or old).metadata.name  # type: ignore[union-attr]
        if name in self._drained and (
            old is None or new is None or old.spec.unschedulable != new.spec.unschedulable
        ):
            self.wake.set()

    def _webhooks_changed(self) -> None:
        """Another gate, or none: every budget may answer otherwise."""
        self._changed |= self.namespaces
        for kind, store in ((PDB, self.pdbs), (PUB, self.pubs)):
            for budget in store:
                self.on_change((kind, budget.metadata.namespace, budget.metadata.name))
        self.wake.set()


def _node_of(pod: DetailedPod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def _namespace_of(found: Object) -> tuple[str, ...]:
    return (found.metadata.namespace,)
