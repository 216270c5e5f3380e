"""Two installations in one cluster: one works, the other waits and says so."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import Forbidden
from intact.kube.lease import Election
from intact.kube.resources import EVENTS, LEASES, NAMESPACES
from intact.model.status import Status
from intact.operator.names import LEASE
from intact.operator.other_installations import LEFT_AFTER, REASON, OtherInstallations
from intact.sandbox import MemoryApi, Moment
from tests.unit.kube.simulated import simulated


class Installation:
    """As `run` puts it together: it waits, stands, waits, and works."""

    def __init__(self, api: MemoryApi, namespace: str) -> None:
        self.client = Client(api)
        self.others = OtherInstallations(self.client, namespace, namespace)
        self.election = Election(self.client, namespace, LEASE, namespace)
        self._works = False
        self._tasks: list[asyncio.Task[None]] = []

    def works(self) -> bool:
        return self._works

    def start(self) -> None:
        self._tasks = [asyncio.create_task(part) for part in (self.others.run(), self._stand())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _stand(self) -> None:
        await self.others.wait_until_alone()
        await self.election.run(self._lead)

    async def _lead(self) -> None:
        await self.others.wait_for_older()
        self._works = True
        try:
            await asyncio.Event().wait()
        finally:
            self._works = False


async def two() -> tuple[MemoryApi, Installation, Installation]:
    api = MemoryApi()
    for name in ("a", "b"):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await Client(api).create(NAMESPACES, body)
    return api, Installation(api, "a"), Installation(api, "b")


async def told(client: Client, namespace: str) -> list[str]:
    events: list[Any] = (await client.list(EVENTS, namespace)).items
    return [one.message for one in events if one.reason == REASON]


@simulated
async def test_the_second_waits_and_both_are_told() -> None:
    _api, first, second = await two()
    first.start()
    await asyncio.sleep(5)
    second.start()
    await asyncio.sleep(120)
    assert first.works()
    assert not second.works()
    assert second.election.holder == ""
    message = "Intact works in the namespace a already: the installation in b waits."
    assert second.others.problem is not None
    assert second.others.problem.startswith(message)
    assert first.others.problem is None
    assert await told(first.client, "a") == await told(first.client, "b")
    assert len(await told(first.client, "a")) == 1
    await first.stop()
    await second.stop()


@simulated
async def test_the_second_works_when_the_first_is_gone() -> None:
    _api, first, second = await two()
    first.start()
    await asyncio.sleep(5)
    second.start()
    await asyncio.sleep(5)
    await first.stop()
    await asyncio.sleep(LEFT_AFTER - 5)
    assert not second.works()  # another replica of the first may take over
    await asyncio.sleep(10)
    assert second.works()
    assert second.others.problem is None
    first.start()
    await asyncio.sleep(60)
    assert second.works()
    assert not first.works()  # it has come later
    await first.stop()
    await second.stop()


@simulated
async def test_a_replica_that_takes_over_keeps_the_other_waiting() -> None:
    api, first, second = await two()
    replica = Installation(api, "a")
    first.start()
    await asyncio.sleep(2)
    replica.start()
    await asyncio.sleep(2)
    second.start()
    await asyncio.sleep(5)
    api.faults.fail_randomly(1.0, Moment.BEFORE)  # it dies without giving the Lease back
    await first.stop()
    api.faults.heal()
    await asyncio.sleep(60)
    assert replica.works()
    assert not second.works()
    await replica.stop()
    await second.stop()


@simulated
async def test_of_two_that_begin_at_once_the_older_works() -> None:
    _api, first, second = await two()
    first.start()
    second.start()
    for _ in range(600):
        await asyncio.sleep(0.1)
        assert not (first.works() and second.works())
    assert first.works()
    assert second.others.problem is not None
    await first.stop()
    await asyncio.sleep(60)
    assert second.works()
    await second.stop()


@simulated
async def test_a_lease_that_was_left_behind_holds_up_for_a_while_only() -> None:
    _api, first, second = await two()
    body = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": {"name": LEASE}}
    await first.client.create(LEASES, body | {"spec": {"holderIdentity": "gone"}}, "a")
    second.start()
    await asyncio.sleep(LEFT_AFTER - 5)
    assert not second.works()
    await asyncio.sleep(10)
    assert second.works()
    await second.stop()


@simulated
async def test_without_the_right_to_look_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with the roles of an earlier release."""
    _api, first, _second = await two()
    read = first.client.list

    async def forbid(resource: Any, namespace: str = "", **more: Any) -> Any:
        if resource is LEASES and not namespace:
            raise Forbidden(Status(code=403, message="leases is forbidden"))
        return await read(resource, namespace, **more)

    monkeypatch.setattr(first.client, "list", forbid)
    first.start()
    await asyncio.sleep(5)
    assert first.works()
    await first.stop()
