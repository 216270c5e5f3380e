"""Asks the server for pods to go, at most so many at once. A pod is asked for by its UID: another
one of the same name, wherever it runs, is never meant."""

import asyncio

from intact.cli.drain.answers import Answer, Said, understand
from intact.cli.drain.options import Options
from intact.cli.reading import DETAILED_PODS
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.model.pod import DetailedPod

AT_ONCE = 50


class Evictions:
    def __init__(self, client: Client, options: Options, *, dry_run: bool = False) -> None:
        self._client = client
        self._options = options
        self._dry_run = dry_run
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def ask(self, pod: DetailedPod) -> Said:
        async with self._turns:
            try:
                await self._send(pod)
            except KubeError as error:
                said = understand(error)
                return await self._compared(pod, said) if said.answer is Answer.CONFLICT else said
        return Said(Answer.GRANTED)

    async def _send(self, pod: DetailedPod) -> None:
        meta, grace = pod.metadata, self._options.grace_period_seconds
        ask = self._client.delete if self._options.disable_eviction else self._client.evict
        await ask(
            DETAILED_PODS,
            meta.name,
            meta.namespace,
            grace_period_seconds=grace,
            uid=meta.uid,
            dry_run=self._dry_run,
        )

    async def _compared(self, pod: DetailedPod, said: Said) -> Said:
        """Whether the pod is another one now."""
        meta = pod.metadata
        try:
            found = await self._client.get(DETAILED_PODS, meta.name, meta.namespace)
        except NotFound:
            return Said(Answer.GONE)
        except KubeError as error:
            return understand(error)
        if found.metadata.uid != meta.uid:
            return Said(Answer.GONE)
        return Said(Answer.FAILED, said.message, said.retry_after)
