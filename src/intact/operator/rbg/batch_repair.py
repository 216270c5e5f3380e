"""Have pods that are in the wrong batch come again in the right one."""

import logging
from collections.abc import Callable, Mapping

from intact.kube.client import Client
from intact.kube.errors import ApiError, Conflict, NotFound
from intact.kube.resources import PODS
from intact.kube.store import Key
from intact.model.pod import Pod
from intact.model.rbg import BatchProgress, RoleBasedGroup
from intact.operator.rbg.events import RbgEvents
from intact.rollout.batch_progress import misplaced
from intact.rollout.coordinations import AFFINITY_SCHEDULING, batching, of_type
from intact.rollout.status import Work, state_before

log = logging.getLogger(__name__)


class BatchRepair:
    def __init__(
        self, client: Client, events: RbgEvents, *, ask_again: Callable[[Key], None]
    ) -> None:
        self.writes = 0
        self._client = client
        self._events = events
        self._ask_again = ask_again

    async def put_right(
        self,
        group: RoleBasedGroup,
        works: Mapping[str, Work],
        batches: Mapping[str, BatchProgress],
    ) -> None:
        for each in of_type(group.spec, AFFINITY_SCHEDULING):
            progress = batches[each.name]
            before = state_before(group, each)
            known = before.batches.pending if before and before.batches else []
            for number in progress.pending:
                if number not in known:
                    message = f"{each.name}: batch {number} has a pod that finds no node"
                    self._events.say(group, "Warning", "BatchPending", message)
            for name in batching(each).ratios:
                work = works[name]
                for pod in misplaced(each, work.role, work.pods, progress.started):
                    await self._evict(group, pod)

    async def _evict(self, group: RoleBasedGroup, pod: Pod) -> None:
        meta = pod.metadata
        try:
            await self._client.evict(PODS, meta.name, meta.namespace, uid=meta.uid)
            self.writes += 1
        except (NotFound, Conflict):
            pass  # it has gone
        except ApiError as error:
            log.info("pod %s/%s cannot be evicted: %s", meta.namespace, meta.name, error)
            self._ask_again((meta.namespace, group.metadata.name))
