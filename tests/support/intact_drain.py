"""`intact drain` as a process: what it says, its exit code, and what it did to groups."""

import asyncio
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.namespace_under_test import WITHIN, NamespaceUnderTest, Watched, groups_down
from tests.support.objects import Json


class IntactDrain:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.said = ""
        self._process = process
        self._more = asyncio.Condition()
        self.reading = asyncio.create_task(self._read())

    @property
    def lines(self) -> list[str]:
        return self.said.splitlines()

    @property
    def events(self) -> list[Json]:
        return [json.loads(line) for line in self.lines if line.startswith("{")]

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._more:
                self.said += line.decode()
                self._more.notify_all()

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait until the output has a match."""
        async with asyncio.timeout(WITHIN), self._more:
            while not (found := re.search(pattern, self.said)):
                await self._more.wait()
        return found

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def ended(self, within: float = 2 * WITHIN) -> int:
        async with asyncio.timeout(within):
            code = await self._process.wait()
            await self.reading
        return code


@asynccontextmanager
async def draining(ns: NamespaceUnderTest, *arguments: str) -> AsyncGenerator[IntactDrain, None]:
    """Of the pods of this namespace: those with the label `test`."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        "drain",
        *arguments,
        f"--pod-selector=test={ns.name}",
        f"--kubeconfig={ns.cluster.kubeconfig}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    found = IntactDrain(process)
    try:
        yield found
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await found.reading


async def drained(ns: NamespaceUnderTest, *arguments: str) -> tuple[int, str]:
    """The exit code and the output."""
    async with draining(ns, *arguments) as drain:
        return await drain.ended(), drain.said


def breaks(watched: Watched, key: str, need: Mapping[str, int]) -> Counter[str]:
    """How often each group went down."""
    found: Counter[str] = Counter()
    before: set[str] = set()
    for state in watched.states:
        down = groups_down(state, key, need)
        found.update(down - before)
        before = down
    return found


def most_down(watched: Watched, key: str, need: Mapping[str, int]) -> int:
    return max(len(groups_down(state, key, need)) for state in watched.states)
