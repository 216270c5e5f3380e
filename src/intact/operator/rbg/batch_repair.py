"""Evicts pods that are in the wrong batch, so that they come back in the right one."""

import logging
from collections.abc import Mapping

from intact.kube.client import Client
from intact.kube.errors import ApiError, Conflict, NotFound
from intact.kube.resources import PODS
from intact.model.pod import Pod
from intact.model.rbg import BatchProgress, RoleBasedGroup
from intact.operator.rbg.events import RbgEvents
from intact.rollout.batch_progress import misplaced
from intact.rollout.coordinations import AFFINITY_SCHEDULING, batching, of_type
from intact.rollout.facts import RoleFacts

log = logging.getLogger(__name__)


class BatchRepair:
    def __init__(self, client: Client, events: RbgEvents) -> None:
        self.writes = 0
        self._client = client
        self._events = events

    async def put_right(
        self,
        group: RoleBasedGroup,
        roles: Mapping[str, RoleFacts],
        batches: Mapping[str, BatchProgress],
    ) -> bool:
        """Returns whether an eviction was refused, and has to be tried again."""
        refused = False
        for each in of_type(group.spec, AFFINITY_SCHEDULING):
            progress = batches[each.name]
            before = group.status.coordination_named(each.name)
            known = before.batches.pending if before and before.batches else []
            for number in progress.pending:
                if number not in known:
                    message = (
                        f"coordination {each.name}: the scheduler finds no node for a pod of "
                        f"batch {number}"
                    )
                    self._events.say(group, "Warning", "BatchPending", message)
            for name in batching(each).ratios:
                facts = roles[name]
                for pod in misplaced(each, facts.role, facts.pods, progress.started):
                    refused |= not await self._evict(pod)
        return refused

    async def _evict(self, pod: Pod) -> bool:
        """Whether the pod goes."""
        meta = pod.metadata
        try:
            await self._client.evict(PODS, meta.name, meta.namespace, uid=meta.uid)
        except (NotFound, Conflict):
            return True  # it is gone already
        except ApiError as error:
            log.info(
                "pod %s/%s is in the wrong batch and cannot be evicted: %s",
                meta.namespace,
                meta.name,
                error,
            )
            return False
        self.writes += 1
        return True
