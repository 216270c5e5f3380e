"""Deployments: a ReplicaSet for each template, the newest growing as the others shrink."""

from collections.abc import Callable
from typing import Any

from intact.kube.errors import AlreadyExists, ApiError, NotFound
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_terminating
from intact.sandbox.controllers.controller import Controller
from intact.sandbox.controllers.deployments.sizes import (
    DESIRED,
    HASH_LABEL,
    MOST,
    Sizes,
    annotation,
    count,
    fence,
    find_new,
    first_size,
    is_rolling,
    is_scaled,
    rolled,
    scaled,
    size,
)
from intact.sandbox.controllers.deployments.status import (
    PROGRESSING,
    Conditions,
    condition,
    deadline,
    history_limit,
    is_complete,
    pause_seen,
    status_of,
    until_deadline,
    with_condition,
    with_progress,
)
from intact.sandbox.controllers.hashes import short_hash
from intact.sandbox.controllers.pods import owner_reference
from intact.sandbox.controllers.resources import DEPLOYMENTS, REPLICA_SETS

_REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    _REVISION,
    _HISTORY,
    DESIRED,
    MOST,
)
_LONGEST_NAME = 253


class DeploymentController(Controller):
    kind = "deployments.apps"

    def follow(self) -> list[Callable[[], None]]:
        return [self.follow_owned("replicasets.apps")]

    async def reconcile(self, obj: Json) -> None:
        step = _Step(self, obj)
        if is_terminating(obj):
            await step.write_status()
            return
        step.conditions = pause_seen(obj, step.conditions, self.now())
        await step.take_up_new()
        paused = bool(obj["spec"].get("paused"))
        if paused or is_scaled(obj, step.sets):
            await step.resize(scaled(obj, step.new, step.old), annotate=True)
            if paused:
                await step.clean_up()
            await step.write_status()
            return
        await (self._roll(step) if is_rolling(obj) else self._recreate(step))
        self.again_after(obj, await step.write_progress())

    async def _roll(self, step: "_Step") -> None:
        new = step.new or await step.create_new()
        moved = new is not None and await step.resize(rolled(step.deployment, new, step.old))
        if not moved and is_complete(step.deployment, step.deployment.get("status", {})):
            await step.clean_up()

    async def _recreate(self, step: "_Step") -> None:
        if await step.resize({_name(one): 0 for one in step.old}) or self._old_pods(step):
            return
        new = step.new or await step.create_new()
        if new is not None:
            await step.resize({_name(new): size(step.deployment)})
        if is_complete(step.deployment, step.deployment.get("status", {})):
            await step.clean_up()

    def _old_pods(self, step: "_Step") -> bool:
        """Whether pods of old ReplicaSets may still run."""
        return any(
            count(one, "replicas") or any(not is_finished(pod) for pod in self.shared.pods.of(one))
            for one in step.old
        )


class _Step:
    """One look at a Deployment, with what is found and written on the way."""

    def __init__(self, controller: DeploymentController, deployment: Json) -> None:
        self.deployment = deployment
        self.conditions: Conditions = deployment.get("status", {}).get("conditions") or []
        self._controller = controller
        self._shared = controller.shared
        self._revision = annotation(deployment, _REVISION)
        self._collisions = count(deployment, "collisionCount")

    @property
    def sets(self) -> list[Json]:
        """As they are now, oldest first."""
        return self._shared.replica_sets.of(self.deployment)

    @property
    def new(self) -> Json | None:
        return find_new(self.deployment, self.sets)

    @property
    def old(self) -> list[Json]:
        sets = self.sets
        new = find_new(self.deployment, sets)
        return [one for one in sets if one is not new]

    async def take_up_new(self) -> None:
        """Give the newest ReplicaSet the newest revision, also after a rollback to it."""
        new = self.new
        if new is None:
            return
        min_ready = self.deployment["spec"].get("minReadySeconds", 0)
        annotations = self._annotations(new)
        if (
            annotations != (new["metadata"].get("annotations") or {})
            or new["spec"].get("minReadySeconds", 0) != min_ready
        ):
            await self._write(new, annotations, minReadySeconds=min_ready)
        self._revision = annotations[_REVISION]
        if condition(self.conditions, PROGRESSING) is None:
            self._progressing("True", "FoundNewReplicaSet", f'Found new replica set "{_name(new)}"')

    async def create_new(self) -> Json | None:
        """None in a namespace that ends."""
        while True:
            made = self._new_set()
            name = made["metadata"]["name"]
            try:
                created = await self._shared.client.create(
                    REPLICA_SETS, made, self.deployment["metadata"]["namespace"]
                )
            except AlreadyExists:
                self._collisions += 1
            except ApiError as error:
                if error.has_cause("NamespaceTerminating"):
                    return None
                message = f'Failed to create new replica set "{name}": {error}'
                self._progressing("False", "ReplicaSetCreateError", message)
                await self.write_status()
                raise
            else:
                self._revision = annotation(created, _REVISION)
                message = f'Created new replica set "{name}"'
                self._progressing("True", "NewReplicaSetCreated", message)
                return created

    def _new_set(self) -> Json:
        spec, meta = self.deployment["spec"], self.deployment["metadata"]
        template, selector = spec["template"], spec["selector"]
        suffix = short_hash(template, self._collisions)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: suffix}
        matched = {**(selector.get("matchLabels") or {}), HASH_LABEL: suffix}
        return {
            "metadata": {
                "name": f"{meta['name'][: _LONGEST_NAME - len(suffix) - 1]}-{suffix}",
                "labels": labels,
                "annotations": {**self._annotations(None), **self._amounts()},
                "ownerReferences": [owner_reference(self.deployment)],
            },
            "spec": {
                "replicas": first_size(self.deployment, self.old),
                "minReadySeconds": spec.get("minReadySeconds", 0),
                "selector": {**selector, "matchLabels": matched},
                "template": {
                    **template,
                    "metadata": {**(template.get("metadata") or {}), "labels": labels},
                },
            },
        }

    async def resize(self, sizes: Sizes, *, annotate: bool = False) -> bool:
        """Whether a size changed. With `annotate`, also sets that keep theirs are told how many
        replicas the Deployment wants by now."""
        changed = False
        for one in self.sets:
            wanted = sizes.get(_name(one))
            if wanted is None:
                continue
            annotations = {**(one["metadata"].get("annotations") or {}), **self._amounts()}
            stale = annotate and annotations != one["metadata"].get("annotations")
            if wanted != size(one) or stale:
                changed |= wanted != size(one)
                await self._write(one, annotations, replicas=wanted)
        return changed

    async def clean_up(self) -> None:
        """Delete the oldest ReplicaSets without pods beyond the limit."""
        limit = history_limit(self.deployment)
        old = [one for one in self.old if not is_terminating(one)]
        if limit is None or len(old) <= limit:
            return
        old.sort(key=lambda one: int(annotation(one, _REVISION) or 0))
        for one in old[: len(old) - limit]:
            observed = count(one, "observedGeneration") >= one["metadata"]["generation"]
            if not size(one) and not count(one, "replicas") and observed:
                try:
                    await self._shared.client.delete(
                        REPLICA_SETS, _name(one), one["metadata"]["namespace"]
                    )
                except NotFound:
                    continue

    async def write_status(self) -> None:
        await self._store(self._status())

    async def write_progress(self) -> float | None:
        """Returns the seconds after which the rollout is late, if it is under way."""
        now = self._controller.now()
        status = with_progress(self.deployment, self.sets, self.new, self._status(), now)
        await self._store(status)
        if is_complete(self.deployment, status):
            return None
        wait = until_deadline(self.deployment, status["conditions"], now)
        # A second more: times are stored without their fraction.
        return None if wait is None else max(0.0, wait) + 1

    def _status(self) -> Json:
        now = self._controller.now()
        return status_of(
            self.deployment, self.sets, self.new, self.conditions, self._collisions, now
        )

    async def _store(self, status: Json) -> None:
        annotations = {_REVISION: self._revision} if self._revision else {}
        await self._shared.write_status(DEPLOYMENTS, self.deployment, status, annotations)

    async def _write(self, one: Json, annotations: Json, **spec: Any) -> None:
        meta = one["metadata"]
        body = {
            **one,
            "metadata": {**meta, "annotations": annotations},
            "spec": {**one["spec"], **spec},
        }
        await self._shared.client.update(REPLICA_SETS, body, meta["name"], meta["namespace"])

    def _amounts(self) -> Json:
        replicas = size(self.deployment)
        return {DESIRED: str(replicas), MOST: str(replicas + fence(self.deployment)[0])}

    def _annotations(self, new: Json | None) -> Json:
        """Of the newest ReplicaSet: those of the Deployment, and its place in the history."""
        given = self.deployment["metadata"].get("annotations") or {}
        present = (new["metadata"].get("annotations") or {}) if new is not None else {}
        found = {**present, **{name: given[name] for name in given if name not in _NOT_COPIED}}
        others = [one for one in self.sets if new is None or _name(one) != _name(new)]
        newest = max((int(annotation(one, _REVISION) or 0) for one in others), default=0) + 1
        before = present.get(_REVISION)
        if int(before or 0) < newest:
            found[_REVISION] = str(newest)
            if before is not None:
                found[_HISTORY] = ",".join(filter(None, (present.get(_HISTORY), before)))
        return found

    def _progressing(self, status: str, reason: str, message: str) -> None:
        if deadline(self.deployment) is not None:
            now = self._controller.now()
            self.conditions = with_condition(
                self.conditions, now, PROGRESSING, status, reason, message
            )


def _name(replica_set: Json) -> str:
    return str(replica_set["metadata"]["name"])
