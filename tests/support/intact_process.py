"""`intact run` as a process of its own, for tests that follow its log and its exit code."""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

STARTED = re.compile(r"serving http on (\d+(?:\.\d+){3}:\d+)")


class IntactProcess:
    def __init__(self, process: asyncio.subprocess.Process, session: aiohttp.ClientSession) -> None:
        self.process = process
        self.log: list[str] = []
        self.address = ""
        self._session = session
        self._reading = asyncio.create_task(self._read())
        self._started = asyncio.Event()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log.append(line.decode().rstrip("\n"))
            if match := STARTED.search(self.log[-1]):
                self.address = match[1]
                self._started.set()

    async def started(self) -> None:
        async with asyncio.timeout(60):
            await self._started.wait()

    async def get(self, path: str) -> tuple[int, str]:
        async with self._session.get(f"http://{self.address}{path}") as answer:
            return answer.status, await answer.text()

    async def metric(self, name: str) -> float:
        _, text = await self.get("/metrics")
        [line] = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[-1])

    async def ready(self, status: int = 200, containing: str = "") -> str:
        """Wait until /readyz answers with this status and a text that contains this."""
        async with asyncio.timeout(60):
            while True:
                answer = await self.get("/readyz")
                if answer[0] == status and containing in answer[1]:
                    return answer[1]
                await asyncio.sleep(0.05)

    async def logged(self, *words: str) -> str:
        """Wait for a log line with all these words: it comes through a pipe, after the fact."""
        async with asyncio.timeout(60):
            while True:
                for line in self.log:
                    if all(word in line for word in words):
                        return line
                await asyncio.sleep(0.05)

    async def leads(self) -> bool:
        return await self.metric("intact_leader") == 1

    async def ended(self) -> int:
        async with asyncio.timeout(60):
            code = await self.process.wait()
            await self._reading
        return code


@asynccontextmanager
async def intact_run(kubeconfig: Path, *arguments: str) -> AsyncGenerator[IntactProcess, None]:
    command = ["run", "--kubeconfig", str(kubeconfig), "--http-bind", "127.0.0.1:0", *arguments]
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            yield IntactProcess(process, session)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
