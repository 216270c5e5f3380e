"""Namespaces that are deleted: their pods go first, then all the rest. The API server removes the
namespace once it is empty."""

from collections.abc import Callable

from intact.kube.resources import untyped
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_terminating
from intact.sandbox.controllers.controller import Controller, Shared

_USER = "system:serviceaccount:kube-system:namespace-controller"


class NamespaceController(Controller):
    kind = "namespaces"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._client = shared.client_of(_USER)

    def follow(self) -> list[Callable[[], None]]:
        return [self.shared.api.follow("pods", self._pod_changed)]

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None or old is None:
            return
        name = old["metadata"]["namespace"]
        namespace = self.shared.api.peek(self.kind, "", name)
        if namespace is not None and is_terminating(namespace):
            self.queue.add(("", name))

    async def reconcile(self, obj: Json) -> None:
        if not is_terminating(obj):
            return
        name = obj["metadata"]["name"]
        kinds = [kind for kind in self.shared.api.kinds() if kind.namespaced]
        kinds.sort(key=lambda kind: kind.full_name != "pods")
        for kind in kinds:
            await self._empty(kind, name)
            if kind.full_name == "pods" and self._has_any(kind, name):
                return

    async def _empty(self, kind: Kind, namespace: str) -> None:
        if self._has_any(kind, namespace):
            resource = untyped(kind.group, kind.version, kind.plural, kind.kind)
            await self._client.delete_collection(resource, namespace)

    def _has_any(self, kind: Kind, namespace: str) -> bool:
        return next(self.shared.api.objects(kind.full_name, namespace), None) is not None
