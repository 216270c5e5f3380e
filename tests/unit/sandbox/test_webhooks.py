"""Registered webhooks are called while their registration is there, answered or not."""

from typing import Any

import msgspec
import pytest

from intact.kube.errors import Forbidden, ServerError
from intact.model.admission import AdmissionResponse
from intact.model.status import Status
from intact.operator.webhook.configuration import MUTATING, VALIDATING
from intact.sandbox.cluster import Sandbox
from intact.sandbox.webhooks import address_of
from tests.support.objects import CONFIGMAPS, Json, configmap

URL = "https://hooks.example/review"


def webhook(**more: Any) -> Json:
    found: Json = {
        "name": "maps.example.dev",
        "clientConfig": {"url": URL},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE"],
            }
        ],
        "failurePolicy": "Fail",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
    }
    return found | more


async def register(sandbox: Sandbox, *webhooks: Json, resource: Any = VALIDATING) -> None:
    body = {"metadata": {"name": "hooks"}, "webhooks": list(webhooks)}
    await sandbox.client().create(resource, body)


async def create(sandbox: Sandbox, name: str = "a", **metadata: Any) -> Json:
    return await sandbox.client().create(CONFIGMAPS, configmap(name, **metadata), "default")


async def refuse(_: msgspec.Raw) -> AdmissionResponse:
    return AdmissionResponse(allowed=False, status=Status(code=403, message="not today"))


async def test_an_answer_counts() -> None:
    sandbox = Sandbox()
    sandbox.webhooks.serve({URL: refuse})
    await register(sandbox, webhook())
    with pytest.raises(Forbidden, match="not today"):
        await create(sandbox)


async def test_without_an_answer_the_failure_policy_decides() -> None:
    sandbox = Sandbox()
    sandbox.webhooks.serve({URL: refuse})
    sandbox.webhooks.close({URL: refuse})
    await register(sandbox, webhook())
    with pytest.raises(ServerError, match="connection refused"):
        await create(sandbox)
    body = {"webhooks": [webhook(failurePolicy="Ignore")]}
    await sandbox.client().patch(VALIDATING, body, "hooks")
    await create(sandbox)


async def test_a_registration_that_goes_takes_its_webhooks_with_it() -> None:
    sandbox = Sandbox()
    await register(sandbox, webhook(), webhook(name="more.example.dev"))
    with pytest.raises(ServerError):
        await create(sandbox)
    await sandbox.client().delete(VALIDATING, "hooks")
    await create(sandbox)


async def test_selectors_hold() -> None:
    sandbox = Sandbox()
    await register(sandbox, webhook(objectSelector={"matchLabels": {"a": "b"}}))
    await create(sandbox)
    with pytest.raises(ServerError):
        await create(sandbox, "b", labels={"a": "b"})


async def test_a_known_condition_keeps_requests_away() -> None:
    sandbox = Sandbox()
    condition = {"name": "namespace-stays", "expression": "..."}
    await register(sandbox, webhook(matchConditions=[condition]))
    user = "system:serviceaccount:kube-system:namespace-controller"
    await sandbox.client(user).create(CONFIGMAPS, configmap("a"), "default")
    with pytest.raises(ServerError):
        await create(sandbox, "b")


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_an_unknown_condition_fails_as_one_that_cannot_be_evaluated(policy: str) -> None:
    sandbox = Sandbox()
    sandbox.webhooks.serve({URL: refuse})
    condition = {"name": "moon-is-full", "expression": "..."}
    await register(sandbox, webhook(matchConditions=[condition], failurePolicy=policy))
    if policy == "Ignore":
        await create(sandbox)
    else:
        with pytest.raises(ServerError, match="moon-is-full"):
            await create(sandbox)


async def test_a_mutating_webhook_changes_what_is_stored() -> None:
    async def label(_: msgspec.Raw) -> AdmissionResponse:
        patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJhIjoiYiJ9fV0="  # add /data
        return AdmissionResponse(allowed=True, patch=patch, patch_type="JSONPatch")

    sandbox = Sandbox()
    sandbox.webhooks.serve({URL: label})
    await register(sandbox, webhook(), resource=MUTATING)
    assert (await create(sandbox))["data"] == {"a": "b"}


def test_addresses() -> None:
    service = {"namespace": "ns", "name": "s", "path": "/gate"}
    assert address_of({"service": service}) == "https://s.ns.svc:443/gate"
    assert address_of({"url": URL}) == URL
