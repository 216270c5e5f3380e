"""A cluster in this process, with Intact in it, and an evictor that behaves as kubectl does."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from demo.errors import DemoError
from demo.stage import NODES, Json, Say
from intact.cli.rbg.undo import undo_in
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from intact.sandbox.kubectl_drain import Step, What, drain
from intact.sandbox.kubelet.times import Times

TIMES = Times(start=0.2, ready=0.4, termination=0.3)


class SandboxStage:
    """One cluster, which lives as long as the block of `cluster`."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._sandbox = Sandbox(times=TIMES)
        self._client = self._sandbox.client()
        self._intact = Intact(self._sandbox)
        self._running: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def cluster(self) -> AsyncGenerator[Client, None]:
        self._say(f"starting a cluster with {NODES} nodes in this process")
        failure: Exception | None = None
        async with self._sandbox.running():
            for number in range(NODES):
                await self._sandbox.add_node(f"node-{number}")
            try:
                yield self._client
            except (DemoError, KubeError) as error:
                failure = error  # raised here, it would be one of a group
            finally:
                await self._intact.stop()
        if failure is not None:
            raise failure

    def slowed(self, template: Json) -> Json:
        return template  # the kubelets are slow

    async def start_intact(self) -> None:
        self._say("installing and starting Intact")
        self._running = asyncio.create_task(self._intact.run(), name="intact")
        ready = asyncio.create_task(self._intact.wait_ready())
        await asyncio.wait({self._running, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if problem := self.intact_failure():
            raise DemoError(problem)

    async def remove_intact(self) -> None:
        self._running = None
        await self._intact.uninstall()

    def intact_failure(self) -> str | None:
        if self._running is None or not self._running.done():
            return None
        return f"Intact ended: {self._running.exception()!r}"

    def drain(self, node: str) -> "SandboxDrain":
        return SandboxDrain(self._sandbox, self._client, node)

    async def undo(self, group: str, namespace: str) -> None:
        await undo_in(self._client, namespace, group, None)

    def way_in(self) -> Sequence[str]:
        raise DemoError("another terminal cannot reach a cluster in this process")


class SandboxDrain:
    """Prints what kubectl prints."""

    def __init__(self, sandbox: Sandbox, client: Client, node: str) -> None:
        self._sandbox = sandbox
        self._client = client
        self._node = node
        self._lines: list[str] = []

    def lines(self) -> Sequence[str]:
        return self._lines

    async def done(self) -> None:
        self._lines.append(f"node/{self._node} cordoned")
        if not await drain(self._sandbox.api, self._client, self._node, self._report):
            raise DemoError(f"{self._node} was not drained:\n" + "\n".join(self._lines[-5:]))
        self._lines.append(f"node/{self._node} drained")

    def _report(self, step: Step) -> None:
        match step.what:
            case What.EVICTING:
                self._lines.append(f"evicting pod {step.namespace}/{step.name}")
            case What.REFUSED:
                self._lines.append(
                    f'error when evicting pods/"{step.name}" -n "{step.namespace}" '
                    f"(will retry after 5s): {step.why}"
                )
            case What.GONE:
                self._lines.append(f"pod/{step.name} evicted")
            case What.KEPT | What.FAILED:
                self._lines.append(f"error: {step.namespace}/{step.name}: {step.why}")
