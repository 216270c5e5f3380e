"""Which namespaces are gated.

The webhook registrations reach only namespaces with the label `intact.dev/gated`. The leader sets
the label on selected namespaces with a budget and removes it from all others. Then it sends a dry
run of an eviction with a UID that no pod has: if the gate answers, and not the API server itself,
the gate holds the pods of the namespace.
"""

import logging
from collections.abc import Callable

from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound, TooManyRequests
from intact.kube.queue import Queue
from intact.kube.resources import NAMESPACES, PODS
from intact.kube.store import Key, Store
from intact.model.places import Namespace
from intact.model.pod_state import is_terminating
from intact.operator.pub.index import PubIndex
from intact.operator.webhook import probe
from intact.operator.webhook.configuration import GATED_LABEL

log = logging.getLogger(__name__)

_AGAIN = 60.0
"""Seconds after which a gated namespace is probed again."""
_SOON = 0.1
"""Seconds after which a namespace is probed again that is not gated yet."""
_MANY = 100
_LATER = 5.0
"""The same, after so many probes: nothing may come of it."""


class GatedNamespaces:
    def __init__(
        self,
        client: Client,
        index: PubIndex,
        namespaces: Store[Namespace],
        queue: Queue[str],
        mark: Callable[[Key], None],
        selects: Callable[[Namespace], bool] = lambda _: True,
    ) -> None:
        """`selects` says whether budgets hold pods in a namespace at all."""
        self._selects = selects
        self._client = client
        self._index = index
        self._namespaces = namespaces
        self._queue = queue
        self._mark = mark
        self._gated: set[str] = set()
        self._probes: dict[str, int] = {}
        """Those in vain, since the namespace was last gated or labelled."""

    def is_gated(self, namespace: str) -> bool:
        return namespace in self._gated

    async def reconcile(self, namespace: str) -> None:
        known = self._namespaces.get("", namespace)
        if known is None or is_terminating(known):
            self._forget(namespace)
            return
        wanted = self._index.has_budgets(namespace) and self._selects(known)
        if (known.metadata.labels.get(GATED_LABEL) == "true") != wanted:
            await self._label(namespace, wanted)
            self._probes.pop(namespace, None)
        if not wanted:
            self._forget(namespace)
            return
        try:
            gated = await self._probe(namespace)
        except KubeError:
            self._set(namespace, gated=False)
            raise
        self._set(namespace, gated=gated)
        self._queue.add_after(namespace, _AGAIN if gated else self._soon(namespace))

    def _soon(self, namespace: str) -> float:
        self._probes[namespace] = probes = self._probes.get(namespace, 0) + 1
        return _SOON if probes < _MANY else _LATER

    def _forget(self, namespace: str) -> None:
        self._gated.discard(namespace)
        self._probes.pop(namespace, None)

    def _set(self, namespace: str, *, gated: bool) -> None:
        if gated == (namespace in self._gated):
            return
        self._probes.pop(namespace, None)
        (self._gated.add if gated else self._gated.discard)(namespace)
        log.info("namespace %s is %s", namespace, "gated" if gated else "not gated")
        for key in self._index.budgets_in(namespace):
            self._mark(key)

    async def _label(self, namespace: str, wanted: bool) -> None:
        labels = {GATED_LABEL: "true" if wanted else None}
        await self._client.patch(NAMESPACES, {"metadata": {"labels": labels}}, namespace)

    async def _probe(self, namespace: str) -> bool:
        """Whether the API server asks the gate. It takes a moment to notice a new label."""
        try:
            await self._client.evict(PODS, probe.NAME, namespace, uid=probe.UID, dry_run=True)
        except TooManyRequests as answer:
            if answer.has_cause(probe.CAUSE):
                return True
            raise
        except (NotFound, Conflict):
            # No such pod, or a pod of that name, which never has this UID.
            pass
        return False
