"""All nodes in batches: a batch is drained, its nodes come back, the next one follows."""

import asyncio
from collections.abc import Sequence

from intact.sandbox.kubectl_drain import cordon
from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.stage import Stage


async def upgrade(
    stage: Stage, drains: Drains, nodes: Sequence[str], batch: int, back_after: float
) -> bool:
    """`back_after`: seconds that a drained node is away. Returns whether all had their turn."""
    for first in range(0, len(nodes), batch):
        chosen = nodes[first : first + batch]
        if not await drains.run(chosen, parallel=len(chosen)):
            return False
        await asyncio.sleep(back_after)
        for node in chosen:
            await cordon(stage.client, node, unschedulable=False)
    return True
