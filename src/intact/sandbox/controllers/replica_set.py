"""ReplicaSets: so many pods of one template, whichever they are."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from intact.kube.errors import ApiError
from intact.kube.resources import Resource
from intact.model.times import timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_ready, is_terminating
from intact.sandbox.controllers.batches import create_all, delete_all
from intact.sandbox.controllers.controller import Controller
from intact.sandbox.controllers.owned import controller_of
from intact.sandbox.controllers.pods import is_active, is_available, next_availability, pod_of
from intact.sandbox.controllers.resources import REPLICA_SETS
from intact.sandbox.controllers.scale_down import first_to_go

_FAILURE = "ReplicaFailure"


class ReplicaSetController(Controller):
    kind = "replicasets.apps"
    makes_pods = True
    resource: ClassVar[Resource[Json]] = REPLICA_SETS
    counts_terminating: ClassVar[bool] = True
    """Whether its status has a field for pods that are on their way out."""

    def follow(self) -> list[Callable[[], None]]:
        return [self.follow_owned()]

    async def reconcile(self, obj: Json) -> None:
        refusal = None
        if not is_terminating(obj):
            try:
                await self._scale(obj)
            except ApiError as error:
                refusal = error
        pods = self.shared.pods.of(obj)
        await self.shared.write_status(self.resource, obj, self._status(obj, pods, refusal))
        if refusal is not None:
            raise refusal
        min_ready = obj["spec"].get("minReadySeconds", 0)
        self.again_after(obj, next_availability(pods, min_ready, self.now()))

    async def _scale(self, obj: Json) -> None:
        pods = [pod for pod in self.shared.pods.of(obj) if is_active(pod)]
        surplus = len(pods) - obj["spec"]["replicas"]
        if surplus < 0:
            make = partial(pod_of, obj["spec"]["template"], obj)
            await create_all(self.shared, [make] * -surplus)
            return
        if 0 < surplus < len(pods):
            pods = first_to_go(pods, self._related(obj), self.now())
        await delete_all(self.shared, pods[:surplus])

    def _related(self, obj: Json) -> list[Json]:
        """The pods of all ReplicaSets of the same owner."""
        owner = controller_of(obj)
        if owner is None:
            return self.shared.pods.of(obj)
        sets = self.shared.replica_sets.of_uid(owner["uid"])
        return [pod for each in sets for pod in self.shared.pods.of(each)]

    def _status(self, obj: Json, pods: list[Json], refusal: ApiError | None) -> Json:
        spec = obj["spec"]
        active = [pod for pod in pods if is_active(pod)]
        ready = [pod for pod in active if is_ready(pod)]
        min_ready, now = spec.get("minReadySeconds", 0), self.now()
        labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        counts = {
            "fullyLabeledReplicas": sum(
                labels.items() <= (pod["metadata"].get("labels") or {}).items() for pod in active
            ),
            "readyReplicas": len(ready),
            "availableReplicas": sum(is_available(pod, min_ready, now) for pod in ready),
        }
        status: Json = {"replicas": len(active)}
        status |= {name: count for name, count in counts.items() if count}
        if self.counts_terminating:
            status["terminatingReplicas"] = sum(
                is_terminating(pod) and not is_finished(pod) for pod in pods
            )
        status["observedGeneration"] = obj["metadata"]["generation"]
        conditions = self._conditions(obj, len(active), refusal)
        return status | ({"conditions": conditions} if conditions else {})

    def _conditions(self, obj: Json, active: int, refusal: ApiError | None) -> list[Json]:
        before = obj.get("status", {}).get("conditions") or []
        others = [each for each in before if each["type"] != _FAILURE]
        if refusal is None:
            return others
        if len(others) < len(before):
            return list(before)
        short = active < obj["spec"]["replicas"]
        return [
            *others,
            {
                "type": _FAILURE,
                "status": "True",
                "lastTransitionTime": timestamp(self.now()),
                "reason": "FailedCreate" if short else "FailedDelete",
                "message": str(refusal),
            },
        ]
