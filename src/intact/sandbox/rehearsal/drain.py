"""Drains nodes of the copy, as `kubectl drain` does."""

import asyncio
from collections.abc import Sequence

from intact.sandbox.kubectl_drain import Options as KubectlOptions
from intact.sandbox.kubectl_drain import What, cordon, drain
from intact.sandbox.rehearsal.report import NodeReport
from intact.sandbox.rehearsal.stage import Stage


class Drains:
    """Keeps when each node began and was empty."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._begun: dict[str, float] = {}
        self._empty: dict[str, float] = {}

    async def run(self, nodes: Sequence[str], parallel: int) -> bool:
        """All are cordoned first, as kubectl does with the nodes of one command. Where nothing can
        change any more, the next node begins nevertheless: what is in its way is told, too.
        Returns whether all nodes became empty."""
        self._stage.observer.changed()
        for node in nodes:
            await cordon(self._stage.client, node)
        left, running = list(reversed(nodes)), set[asyncio.Task[None]]()
        slots = parallel
        still = asyncio.create_task(self._stage.wait_still())
        try:
            while left or running:
                while left and len(running) < slots:
                    running.add(asyncio.create_task(self._drain(left.pop())))
                done, _ = await asyncio.wait({*running, still}, return_when="FIRST_COMPLETED")
                for task in done - {still}:
                    task.result()
                running -= done
                if still not in done:
                    continue
                if not left:
                    return False
                slots += 1
                self._stage.observer.changed()
                still = asyncio.create_task(self._stage.wait_still())
        finally:
            for task in (*running, still):
                task.cancel()
            await asyncio.gather(*running, still, return_exceptions=True)
        return all(node in self._empty for node in nodes)

    async def _drain(self, node: str) -> None:
        stage, options = self._stage, self._stage.options
        self._begun[node] = stage.now()
        given = KubectlOptions(
            force=options.force,
            delete_emptydir_data=options.delete_emptydir_data,
            goes_on=True,
            knows_daemon_sets=stage.knows_daemon_sets,
        )
        if await drain(stage.api, stage.client, node, stage.steps.of_node(node), given):
            self._empty[node] = stage.now()

    def reports(self, nodes: Sequence[str]) -> list[NodeReport]:
        found = []
        for node in nodes:
            pods = [each for each in self._stage.steps.on(node) if each.what is not What.IGNORED]
            kept = [each for each in pods if each.what is What.KEPT]
            refusal = "; ".join(f"pod {each.namespace}/{each.name} {each.why}" for each in kept)
            found.append(
                NodeReport(node, self._begun.get(node), self._empty.get(node), len(pods), refusal)
            )
        return found
