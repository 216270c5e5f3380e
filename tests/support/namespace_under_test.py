"""A namespace for one test: what the test does there, and every state that its pods were in."""

import asyncio
import re
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import pytest

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client, PatchType
from intact.kube.errors import KubeError, NotFound
from intact.kube.http import HttpTransport
from intact.kube.resources import PUBS, Resource, untyped
from intact.kube.transport import JSON, Request
from intact.model.pub import PodUnavailableBudget, PubStatus
from tests.support.objects import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Json, pod
from tests.support.pub_cases import budget

EVENTS = untyped("", "v1", "events", "Event")
WITHIN = 60.0
"""Seconds after which a test gives up waiting."""
UNREADY = "devcluster.intact.dev/unready"
TERMINATION_DELAY = "devcluster.intact.dev/termination-delay"
_SINCE_REFUSAL = 3.0
Found = TypeVar("Found")
State = dict[str, Json]
"""The pods of a namespace by UID, at one moment."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the API server."""

    code: int
    message: str = ""
    causes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Watched:
    """Every state that the pods of a namespace were in, one for each event."""

    def __init__(self, state: State) -> None:
        self.states = [state]
        self.times = [asyncio.get_running_loop().time()]
        """When each of them was seen."""
        self.seen = asyncio.Condition()

    def taken(self, state: State) -> set[str]:
        """The UIDs of the first pods that are gone or terminating."""
        return {
            uid
            for uid in self.states[0]
            if uid not in state or "deletionTimestamp" in state[uid]["metadata"]
        }

    def last_taken(self) -> float:
        """When the last of the first pods was seen to go."""
        taken = list(map(self.taken, self.states))
        return next(
            time for time, state in zip(self.times, taken, strict=True) if state == taken[-1]
        )

    async def until(self, condition: Callable[[State], bool]) -> None:
        """Wait until the condition holds for a state, also an earlier one."""
        checked = 0
        async with asyncio.timeout(WITHIN), self.seen:
            while not any(condition(state) for state in self.states[checked:]):
                checked = len(self.states)
                await self.seen.wait()

    async def follow(self, client: Client, namespace: str, version: str) -> None:
        async with client.watch(PODS, namespace, resource_version=version) as events:
            async for event in events:
                found: Json | None = event.object
                if event.type == "BOOKMARK" or found is None:
                    continue
                uid = found["metadata"]["uid"]
                after = {key: each for key, each in self.states[-1].items() if key != uid}
                if event.type != "DELETED":
                    after[uid] = found
                async with self.seen:
                    self.states.append(after)
                    self.times.append(asyncio.get_running_loop().time())
                    self.seen.notify_all()


class NamespaceUnderTest:
    def __init__(self, cluster: Cluster, name: str, transport: HttpTransport) -> None:
        self.cluster = cluster
        self.name = name
        self.transport = transport
        self.client = Client(transport, on_warning=lambda _text: None)

    async def open(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.name}})
        async with asyncio.timeout(WITHIN):
            while True:
                try:
                    await self.client.get(SERVICE_ACCOUNTS, "default", self.name)
                except NotFound:
                    await asyncio.sleep(0.05)
                else:
                    return

    async def close(self) -> None:
        with suppress(NotFound):  # the test deleted it
            await self.client.delete(NAMESPACES, self.name)
        for node in (await self.client.list(NODES)).items:
            if node["spec"].get("unschedulable"):
                await self.client.patch(
                    NODES, {"spec": {"unschedulable": None}}, node["metadata"]["name"]
                )
        await self.transport.close()

    # Objects

    async def create(self, resource: Resource[Any], body: object) -> Any:
        return await self.client.create(resource, body, self.name)

    async def pods(self, *names: str, node: str = "node-0", **metadata: Any) -> None:
        """Create pods without an owner, and wait until they are ready, unless an annotation holds
        them unready."""
        for name in names:
            await self.create(PODS, pod(name, node=node, **metadata))
        if UNREADY not in metadata.get("annotations", {}):
            await self.ready(*names)

    async def ready(self, *names: str) -> None:
        await self.until(
            f"{', '.join(names)} to be ready",
            lambda pods: all(name in pods and is_available(pods[name]) for name in names),
        )

    async def running(self, count: int) -> list[str]:
        """Wait for exactly so many ready pods; their names."""
        pods = await self.until(
            f"{count} ready pods",
            lambda pods: len([one for one in pods.values() if is_available(one)]) == count,
        )
        return sorted(name for name, one in pods.items() if is_available(one))

    async def until(
        self, what: str, condition: Callable[[dict[str, Json]], bool], within: float = WITHIN
    ) -> dict[str, Json]:
        """Wait until the condition holds for the pods, by name."""

        async def look() -> dict[str, Json]:
            page = await self.client.list(PODS, self.name)
            return {one["metadata"]["name"]: one for one in page.items}

        return await eventually(look, condition, what, within)

    async def on_node(self, node: str) -> list[str]:
        """The names of the pods that are on a node."""
        page = await self.client.list(PODS, self.name, fields=f"spec.nodeName={node}")
        return [one["metadata"]["name"] for one in page.items]

    async def get(self, name: str) -> Json:
        return await self.client.get(PODS, name, self.name)

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[Watched, None]:
        """The states of the pods during the block, including all events up to its end."""
        page = await self.client.list(PODS, self.name)
        watched = Watched({one["metadata"]["uid"]: one for one in page.items})
        following = asyncio.create_task(
            watched.follow(self.client, self.name, page.resource_version)
        )
        try:
            yield watched
            last = f"last-{uuid.uuid4().hex[:8]}"
            body = pod(last)
            body["spec"]["schedulerName"] = "none"
            await self.create(PODS, body)
            await watched.until(lambda state: last in names_in(state))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    # Budgets

    async def budget(
        self,
        spec: Json,
        name: str = "budget",
        annotations: Mapping[str, str] | None = None,
        **status: object,
    ) -> PodUnavailableBudget:
        """Create a budget, and wait until it works and its status has these values."""
        await self.client.create(
            PUBS, budget(spec, name, annotations=dict(annotations or {})), self.name
        )
        return await self.counted(name, **status)

    async def counted(self, name: str = "budget", **status: object) -> PodUnavailableBudget:
        """Wait until a budget works, and its status has these values."""

        def matches(found: PodUnavailableBudget) -> bool:
            now = found.status
            return (
                now.observed_generation == found.metadata.generation
                and any(each.type == "Working" and each.status == "True" for each in now.conditions)
                and all(getattr(now, field) == value for field, value in status.items())
            )

        async def look() -> PodUnavailableBudget:
            return await self.client.get(PUBS, name, self.name)

        return await eventually(look, matches, f"budget {name} to show {status}")

    async def status(self, name: str = "budget") -> PubStatus:
        return (await self.client.get(PUBS, name, self.name)).status

    # Requests

    async def delete(self, name: str, **options: object) -> Answer:
        return await self.ask("DELETE", PODS.path(self.name, name), options)

    async def evict(self, name: str, dry_run: str = "", **options: object) -> Answer:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.name},
        }
        query = {"dryRun": dry_run} if dry_run else {}
        return await self.ask(
            "POST",
            PODS.path(self.name, name, "eviction"),
            body | ({"deleteOptions": options} if options else {}),
            query,
        )

    async def change(self, name: str, body: Json, subresource: str = "", **query: str) -> Answer:
        path = PODS.path(self.name, name, subresource)
        return await self.ask("PATCH", path, body, query, PatchType.STRATEGIC)

    async def set_image(self, name: str, image: str) -> Answer:
        return await self.change(name, {"spec": {"containers": [{"name": "main", "image": image}]}})

    async def annotate(self, name: str, annotations: dict[str, str | None]) -> Answer:
        return await self.change(name, {"metadata": {"annotations": annotations}})

    async def ask(
        self,
        method: str,
        path: str,
        body: object,
        query: dict[str, str] | None = None,
        content: str = JSON,
    ) -> Answer:
        """Send a request once, whatever the answer."""
        request = Request(method, path, query or {}, msgspec.json.encode(body), content)
        response = await self.transport.send(request)
        if response.status < 400:
            return Answer(response.status, warnings=response.warnings)
        found = msgspec.json.decode(response.body)
        causes = (found.get("details") or {}).get("causes") or []
        return Answer(
            response.status,
            found["message"],
            tuple(cause.get("reason", "") for cause in causes),
            response.warnings,
        )

    async def events(self, kind: str, name: str, reason: str) -> list[Json]:
        """Wait for events of this reason on an object."""

        async def look() -> list[Json]:
            fields = f"involvedObject.kind={kind},involvedObject.name={name},reason={reason}"
            return list((await self.client.list(EVENTS, self.name, fields=fields)).items)

        return await eventually(look, bool, f"an event {reason} on {kind} {name}")

    # kubectl

    async def kubectl(self, *arguments: str, stdin: object = None) -> tuple[int, str]:
        """The exit code and the output."""
        process = await self._kubectl(*arguments)
        said, _ = await asyncio.wait_for(
            process.communicate(b"" if stdin is None else msgspec.json.encode(stdin)), WITHIN
        )
        assert process.returncode is not None
        return process.returncode, said.decode()

    async def _kubectl(self, *arguments: str) -> asyncio.subprocess.Process:
        cluster = self.cluster
        return await asyncio.create_subprocess_exec(
            str(cluster.kubectl),
            f"--kubeconfig={cluster.kubeconfig}",
            f"--namespace={self.name}",
            f"--cache-dir={cluster.data_dir / 'kubectl'}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    @asynccontextmanager
    async def drain(self, node: str, *arguments: str) -> AsyncGenerator["Drain", None]:
        """`kubectl drain` of this namespace's pods from a node: those with the label `test`."""
        selector = f"--pod-selector=test={self.name}"
        process = await self._kubectl("drain", node, selector, "--force", *arguments)
        drain = Drain(process)
        try:
            yield drain
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await drain.reading


class Drain:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.said = ""
        self._process = process
        self._more = asyncio.Condition()
        self._refused_at: dict[str, float] = {}
        """When each pod was refused last, by name."""
        self._given_up: set[str] = set()
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._more:
                said = line.decode()
                self.said += said
                if error := re.search(r'error when evicting pods/"([^"]+)"', said):
                    if "will retry" in said:
                        self._refused_at[error[1]] = asyncio.get_running_loop().time()
                    else:
                        self._given_up.add(error[1])
                self._more.notify_all()

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait until the output has a match."""
        async with asyncio.timeout(WITHIN), self._more:
            while not (found := re.search(pattern, self.said)):
                await self._more.wait()
        return found

    async def between_rounds(self, watched: Watched, names: Iterable[str]) -> None:
        """Wait until each of these pods is terminating or was refused in the last 3 s. kubectl
        retries a refused pod after 5 s. Until then no request is under way: kubectl would give up
        on the pod of a request that dies together with an operator. Nothing in the test may block
        the event loop before: an old refusal would be read as a new one."""
        now = asyncio.get_running_loop().time
        async with asyncio.timeout(2 * WITHIN):
            while True:
                first, last = watched.states[0], watched.states[-1]
                going = {first[uid]["metadata"]["name"] for uid in watched.taken(last)}
                waiting = set(names) - going
                assert not waiting & self._given_up, self.said
                if all(now() - self._refused_at.get(name, 0) < _SINCE_REFUSAL for name in waiting):
                    return
                await asyncio.sleep(0.02)

    async def ended(self, within: float = 2 * WITHIN) -> int:
        """The exit code. kubectl retries every 5 s, and needs about one round for each group."""
        async with asyncio.timeout(within):
            code = await self._process.wait()
            await self.reading
        return code


def is_available(one: Json) -> bool:
    """Ready and not terminating."""
    conditions = one.get("status", {}).get("conditions") or []
    return "deletionTimestamp" not in one["metadata"] and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


def names_in(state: State) -> set[str]:
    return {one["metadata"]["name"] for one in state.values()}


def available_in(state: State) -> set[str]:
    return {one["metadata"]["name"] for one in state.values() if is_available(one)}


def groups_down(state: State, key: str, need: Mapping[str, int]) -> set[str]:
    """The groups that have fewer available pods than they need."""
    have = dict.fromkeys(need, 0)
    for one in state.values():
        group = one["metadata"].get("labels", {}).get(key)
        if group in have and is_available(one):
            have[group] += 1
    return {group for group, pods in have.items() if pods < need[group]}


async def eventually(
    look: Callable[[], Awaitable[Found]],
    condition: Callable[[Found], bool],
    what: str,
    within: float = WITHIN,
) -> Found:
    """The first value for which the condition holds; fails with the last one after `within` s."""
    last: Found | KubeError | None = None
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while loop.time() < end:
        try:
            last = found = await look()
            if condition(found):
                return found
        except KubeError as error:
            last = error
        await asyncio.sleep(0.05)
    raise AssertionError(f"timed out after {within:.0f} s waiting for {what}; last seen: {last}")


def open_namespace(
    cluster: Cluster, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    """A fresh namespace with the name of the test in its own; deleted at the end."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[5:45].strip("-")
    name = f"{words}-{uuid.uuid4().hex[:6]}"

    async def begin() -> NamespaceUnderTest:
        ns = NamespaceUnderTest(cluster, name, HttpTransport(config.load(str(cluster.kubeconfig))))
        await ns.open()
        return ns

    ns = runner.run(begin())
    yield ns
    runner.run(ns.close())
