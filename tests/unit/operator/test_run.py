"""The parts of one process, put together as its options say.

The process as a whole is tested in tests/cluster/test_run.py.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from intact.kube.client import Client
from intact.kube.config import Config
from intact.kube.lease import Election
from intact.operator.errors import StartError
from intact.operator.run import Options, Process, run
from intact.operator.webhook.configuration import (
    MUTATING,
    NAME,
    PDB_STATUS_PATH,
    VALIDATING,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.sandbox import DEFAULT_KINDS, Kind, MemoryApi, Moment
from intact.sandbox.api import discovery

NOWHERE = Config("http://127.0.0.1:1")
CRDS = (
    Kind("policy.kruise.io", "v1alpha1", "podunavailablebudgets", "PodUnavailableBudget"),
    Kind("workloads.x-k8s.io", "v1alpha1", "rolebasedgroups", "RoleBasedGroup"),
    Kind(
        "workloads.x-k8s.io",
        "v1alpha1",
        "rolebasedgroupscalingadapters",
        "RoleBasedGroupScalingAdapter",
    ),
)
SHARED = [
    "pods",
    "namespaces",
    "poddisruptionbudgets.policy",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "replicationcontrollers",
]


def process(
    *controllers: str, webhook: tuple[str, int] | None = None, api: MemoryApi | None = None
) -> Process:
    client = Client(api or MemoryApi((*DEFAULT_KINDS, *CRDS)))
    options = Options(NOWHERE, ("127.0.0.1", 0), webhook, controllers=controllers)
    return Process(client, options, Election(client, "default", "intact", "me"), "me")


@asynccontextmanager
async def running(found: Process) -> AsyncGenerator[None, None]:
    """Run the parts of a process beside the block."""
    tasks = [asyncio.create_task(part) for part in found.parts()]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def own_reflectors(found: Process) -> list[str]:
    names = [reflector.name for reflector in found.reflectors()]
    assert names[-len(SHARED) :] == SHARED
    return names[: -len(SHARED)]


async def test_each_controller_brings_what_it_watches() -> None:
    assert own_reflectors(process("pub")) == ["podunavailablebudgets.policy.kruise.io"]
    assert own_reflectors(process("disruption")) == []
    assert own_reflectors(process("pub", "disruption")) == [
        "podunavailablebudgets.policy.kruise.io"
    ]
    # What budgets share is not watched without one: the account may lack the rights.
    names = [reflector.name for reflector in process("rbg").reflectors()]
    assert "rolebasedgroups.workloads.x-k8s.io" in names
    assert not set(SHARED) & set(names)


async def test_budgets_in_groups_need_a_webhook() -> None:
    assert PDB_STATUS_PATH not in process("pdb").controllers.handlers
    with_webhook = process("pdb", webhook=("127.0.0.1", 0))
    assert PDB_STATUS_PATH in with_webhook.controllers.handlers
    with pytest.raises(StartError, match=r"no webhook is served; give --install"):
        await run(Options(NOWHERE, ("127.0.0.1", 0), controllers=("pdb",)))


async def test_webhooks_are_served_only_if_they_are_asked_for() -> None:
    assert process("pub").webhooks is None
    assert process("pub", webhook=("127.0.0.1", 0)).webhooks is not None


@pytest.mark.parametrize(
    ("controllers", "paths"),
    [
        (("pub",), {"/gate", "/pin", "/validate/pub"}),
        (("pdb",), {"/validate/pdb", "/gate/pdb-status", "/door"}),
        (("rbg",), {"/validate/rbg", "/place"}),
        (("disruption",), set()),
    ],
)
async def test_each_controller_brings_its_webhooks_and_no_other_stays(
    controllers: tuple[str, ...], paths: set[str]
) -> None:
    """What was registered for other controllers would refuse requests that nothing answers."""
    api = MemoryApi((*DEFAULT_KINDS, *CRDS))
    client = Client(api)
    before = UrlAddress("127.0.0.1", 0, f"/{'0' * 32}")
    await client.create(VALIDATING, validating_configuration(before, b"before"))
    await client.create(MUTATING, mutating_configuration(before, b"before"))
    found = process(*controllers, webhook=("127.0.0.1", 0), api=api)
    async with running(found), asyncio.timeout(20):
        while any(check() for check in found.checks().values()):
            await asyncio.sleep(0.02)
        while any(before.prefix in url for url in await registered_urls(client)):
            await asyncio.sleep(0.02)
    urls = await registered_urls(client)
    assert found.webhooks is not None
    base = f"https://127.0.0.1:0/{found.webhooks.certificates.token}"
    assert {url.removeprefix(base) for url in urls} == paths


async def registered_urls(client: Client) -> list[str]:
    return [
        webhook["clientConfig"]["url"]
        for resource in (VALIDATING, MUTATING)
        for webhook in (await client.get(resource, NAME)).webhooks or []
    ]


async def is_registered(client: Client) -> bool:
    found = [*(await client.list(VALIDATING)).items, *(await client.list(MUTATING)).items]
    return len(found) == 2


async def test_a_process_is_ready_once_all_is_listed_and_the_lease_is_read() -> None:
    found = process("pub")
    checks = found.checks()
    assert [*checks] == [
        "podunavailablebudgets.policy.kruise.io",
        *SHARED,
        "lease",
        "installation",
    ]
    assert checks["pods"]() == "not listed yet"
    async with running(found), asyncio.timeout(10):
        while any(check() for check in checks.values()):
            await asyncio.sleep(0.01)


async def test_what_cannot_be_listed_is_shown_but_a_kind_that_is_not_served_is_not_missed() -> None:
    api = MemoryApi()  # without the CRD of PodUnavailableBudgets
    api.faults.fail_randomly(1.0, Moment.BEFORE, lambda request: request.path == "/api/v1/pods")
    found = process("pub", api=api)
    checks = found.checks()
    async with running(found), asyncio.timeout(10):
        while "connection lost" not in str(checks["pods"]()) or any(
            check() for name, check in checks.items() if name != "pods"
        ):
            await asyncio.sleep(0.01)


async def test_nothing_is_written_to_a_server_that_is_too_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(discovery.VERSION, "gitVersion", "v1.29.15")
    api = MemoryApi((*DEFAULT_KINDS, *CRDS))
    found = process("pub", webhook=("127.0.0.1", 0), api=api)
    with pytest.RaisesGroup(pytest.RaisesExc(StartError, match=r"v1\.29\.15: .* 1\.30 or later")):
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            for part in found.parts():
                group.create_task(part)
    assert not await is_registered(Client(api))
