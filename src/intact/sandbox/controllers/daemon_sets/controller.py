"""DaemonSets: a pod on each node that they select and tolerate."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from intact.kube.errors import ApiError
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_ready, is_terminating, phase
from intact.sandbox.controllers.batches import create_all, delete_all
from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.daemon_sets.nodes import (
    HASH_LABEL,
    Verdict,
    new_pod,
    target,
    verdict,
)
from intact.sandbox.controllers.daemon_sets.rolling import (
    Changes,
    Pods,
    is_new,
    limits,
    replaced,
    surged,
    surplus,
)
from intact.sandbox.controllers.pods import is_available, next_availability
from intact.sandbox.controllers.resources import CONTROLLER_REVISIONS, DAEMON_SETS
from intact.sandbox.controllers.revisions import (
    Latest,
    is_observed,
    latest_revision,
    revisions_of,
)

_FIRST_BACKOFF, _LONGEST_BACKOFF = timedelta(seconds=1), timedelta(minutes=15)
_NOWHERE = Verdict(runs=False, stays=False)


class DaemonSetController(Controller):
    kind = "daemonsets.apps"
    makes_pods = True

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._nodes: dict[str, Json] = {}
        self._verdicts: dict[str, tuple[int, dict[str, Verdict]]] = {}
        """By UID of the DaemonSet: its generation, and what it thinks of each node."""
        self._backoffs: dict[tuple[str, str], tuple[datetime, timedelta]] = {}
        """By UID and node: when a failed pod was deleted last, and how long the next one stays."""

    def follow(self) -> list[Callable[[], None]]:
        self._nodes.clear()
        return [self.follow_owned(), self.shared.api.follow("nodes", self._node_changed)]

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if new is None:
            del self._nodes[name]
        else:
            self._nodes[name] = new
        if old is not None and new is not None and _placement(old) == _placement(new):
            return
        for _, verdicts in self._verdicts.values():
            verdicts.pop(name, None)
        if new is None:
            return
        for daemon_set in self.shared.api.objects(self.kind):
            if self._concerns(daemon_set, name):
                meta = daemon_set["metadata"]
                self.queue.add((meta["namespace"], meta["name"]))

    def _concerns(self, obj: Json, node: str) -> bool:
        """Whether the DaemonSet is looked at for this node. A taint that only makes a pod misplaced
        is counted with the next change: so it is in Kubernetes."""
        wish = self._verdict(obj, node)
        there = any(pod["spec"].get("nodeName") == node for pod in self.shared.pods.of(obj))
        if not there:
            return wish.runs
        return not wish.stays or bool(obj.get("status", {}).get("numberMisscheduled"))

    async def reconcile(self, obj: Json) -> None:
        if is_terminating(obj):
            return
        latest = await latest_revision(self.shared, obj, HASH_LABEL, seen=self._seen(obj))
        refusal = None
        try:
            if not await self._apply(obj, latest, self._wanted(obj, latest)):
                await self._apply(obj, latest, self._rolled(obj, latest))
            await self._clean_up(obj, latest)
        except ApiError as error:
            refusal = error
        await self.shared.write_status(DAEMON_SETS, obj, self._status(obj, latest))
        if refusal is not None:
            raise refusal
        pods = self.shared.pods.of(obj)
        self.again_after(obj, next_availability(pods, _min_ready(obj), self.now()))

    def _seen(self, obj: Json) -> str:
        """The hash of the newest pod, if there is nothing else to know the present one by."""
        pods = self.shared.pods.of(obj)
        if not pods or not is_observed(obj) or revisions_of(self.shared, obj):
            return ""
        return str((pods[-1]["metadata"].get("labels") or {}).get(HASH_LABEL, ""))

    def _verdict(self, obj: Json, node: str) -> Verdict:
        uid, generation = obj["metadata"]["uid"], obj["metadata"]["generation"]
        known, verdicts = self._verdicts.get(uid, (0, {}))
        if known != generation:
            verdicts = {}
            self._verdicts[uid] = generation, verdicts
        found = verdicts.get(node)
        if found is None:
            here = self._nodes.get(node)
            found = verdicts[node] = verdict(obj, here) if here is not None else _NOWHERE
        return found

    def _pods(self, obj: Json) -> Pods:
        """By node, the oldest first, those that have reached it before those that have not."""
        found: Pods = {}
        for pod in self.shared.pods.of(obj):
            if not (is_terminating(pod) and is_finished(pod)):
                found.setdefault(target(pod), []).append(pod)
        for there in found.values():
            there.sort(key=lambda pod: not pod["spec"].get("nodeName"))
        return found

    def _wanted(self, obj: Json, latest: Latest) -> Changes:
        """Pods where there are none, and none where they may not be."""
        pods, changes = self._pods(obj), Changes()
        surges = limits(obj, 1).surge > 0
        for node in self._nodes:
            there, wish = pods.get(node), self._verdict(obj, node)
            if there is None:
                changes.create += [node] if wish.runs else []
            elif wish.stays:
                running = self._without_finished(obj, node, there, changes)
                if not surges:
                    changes.delete += running[1:]
                elif running:
                    changes.delete += surplus(running, _suffix(latest), self._available(obj))
                elif wish.runs:
                    changes.create.append(node)
            else:
                changes.delete += [pod for pod in there if not is_terminating(pod)]
        for node, there in pods.items():
            if node not in self._nodes:
                changes.delete += [pod for pod in there if not pod["spec"].get("nodeName")]
        return changes

    def _without_finished(
        self, obj: Json, node: str, pods: list[Json], changes: Changes
    ) -> list[Json]:
        running = []
        for pod in pods:
            if is_terminating(pod):
                continue
            if phase(pod) == "Failed":
                changes.delete += [pod] if self._may_replace(obj, node) else []
            elif phase(pod) == "Succeeded":
                changes.delete.append(pod)
            else:
                running.append(pod)
        return running

    def _may_replace(self, obj: Json, node: str) -> bool:
        """Pods that fail again and again are replaced ever more slowly."""
        key, now = (obj["metadata"]["uid"], node), self.now()
        last, wait = self._backoffs.get(key, (now, timedelta()))
        if now - last > 2 * _LONGEST_BACKOFF:
            wait = timedelta()
        if now - last < wait:
            self.again_after(obj, (last + wait - now).total_seconds())
            return False
        self._backoffs[key] = now, min(2 * wait or _FIRST_BACKOFF, _LONGEST_BACKOFF)
        return True

    def _rolled(self, obj: Json, latest: Latest) -> Changes:
        if (obj["spec"].get("updateStrategy") or {}).get("type") == "OnDelete":
            return Changes()
        pods = self._pods(obj)
        wanted = [node for node in self._nodes if self._verdict(obj, node).runs]
        for node in wanted:
            pods.setdefault(node, [])
        may, suffix = limits(obj, len(wanted)), _suffix(latest)
        available = self._available(obj)
        if not may.surge:
            return replaced(pods, suffix, may.unavailable, available)
        return surged(
            pods, suffix, may.surge, available, lambda node: self._verdict(obj, node).runs
        )

    def _available(self, obj: Json) -> Callable[[Json], bool]:
        return partial(is_available, min_ready=_min_ready(obj), now=self.now())

    async def _apply(self, obj: Json, latest: Latest, changes: Changes) -> bool:
        """Whether there was anything to change."""
        await create_all(
            self.shared, [partial(new_pod, obj, _suffix(latest), node) for node in changes.create]
        )
        await delete_all(self.shared, changes.delete)
        return bool(changes.create or changes.delete)

    async def _clean_up(self, obj: Json, latest: Latest) -> None:
        old = [one for one in revisions_of(self.shared, obj) if _name(one) != latest.name]
        surplus = len(old) - obj["spec"].get("revisionHistoryLimit", 10)
        pods = self.shared.pods.of(obj) if surplus > 0 else []
        unused = [
            one
            for one in old
            if not any(is_new(pod, one["metadata"]["labels"][HASH_LABEL]) for pod in pods)
        ]
        for one in unused[: max(0, surplus)]:
            namespace = one["metadata"]["namespace"]
            await self.shared.client.delete(CONTROLLER_REVISIONS, _name(one), namespace)

    def _status(self, obj: Json, latest: Latest) -> Json:
        pods, now = self._pods(obj), self.now()
        wanted = [node for node in self._nodes if self._verdict(obj, node).runs]
        first = [pods[node][0] for node in wanted if node in pods]
        available = sum(is_available(pod, _min_ready(obj), now) for pod in first)
        status = {
            "observedGeneration": obj["metadata"]["generation"],
            "currentNumberScheduled": len(first),
            "numberMisscheduled": sum(
                node in pods and not self._verdict(obj, node).runs for node in self._nodes
            ),
            "desiredNumberScheduled": len(wanted),
            "numberReady": sum(map(is_ready, first)),
        }
        counts = {
            "updatedNumberScheduled": sum(is_new(pod, _suffix(latest)) for pod in first),
            "numberAvailable": available,
            "numberUnavailable": len(wanted) - available,
            "collisionCount": latest.collisions,
        }
        return status | {name: number for name, number in counts.items() if number}


def _min_ready(obj: Json) -> int:
    return int(obj["spec"].get("minReadySeconds", 0))


def _suffix(latest: Latest) -> str:
    return str(latest.revision["metadata"]["labels"][HASH_LABEL])


def _name(revision: Json) -> str:
    return str(revision["metadata"]["name"])


def _placement(node: Json) -> tuple[object, object]:
    """What decides on which nodes pods may be."""
    return node["metadata"].get("labels"), (node.get("spec") or {}).get("taints")
