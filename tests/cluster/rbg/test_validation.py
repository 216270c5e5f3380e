"""RoleBasedGroups that a real API server accepts or refuses, by the CRD or by our webhook."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from intact.kube.errors import ApiError, Invalid
from intact.kube.resources import untyped
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import NAMESPACES, Json
from tests.support.rbg_cases import ACCEPTED, REFUSED, REFUSED_BY_THE_SERVER, Case
from tests.support.rbg_objects import group, role, template
from tests.support.rbg_waiting import GROUPS, STATEFUL_SETS, change, group_settled, names_of
from tests.support.webhooks import Hook, webhook_server

QUOTAS = untyped("", "v1", "resourcequotas", "ResourceQuota")
WEBHOOKS = untyped(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
BROKEN = template(restartPolicy="Never")


async def test_valid_groups_are_accepted(ns: NamespaceUnderTest) -> None:
    for case in ACCEPTED:
        await ns.client.create(GROUPS, case.body, ns.name, dry_run=True)


async def test_invalid_groups_are_refused_at_their_field(ns: NamespaceUnderTest) -> None:
    wrong = []
    for case in REFUSED:
        try:
            await ns.client.create(GROUPS, case.body, ns.name, dry_run=True)
        except Invalid as error:
            if not _says(error, case):
                wrong.append((case.name, str(error)))
        else:
            wrong.append((case.name, "stored"))
    assert wrong == []


def _says(error: Invalid, case: Case) -> bool:
    return any(
        cause.field.removeprefix("<nil>").startswith(case.field) and case.message in cause.message
        for cause in error.causes
    )


async def test_kubectl_shows_the_field_and_the_reason_of_a_refusal(ns: NamespaceUnderTest) -> None:
    body = group("llm", role("prefill"), role("decode", dependencies=["encode"]))
    code, said = await ns.kubectl("apply", "-f", "-", stdin=body)
    assert code == 1
    assert (
        'The RoleBasedGroup "llm" is invalid: spec.roles[1].dependencies[0]: '
        'Invalid value: "encode": there is no role of this name'
    ) in said


@pytest.mark.parametrize("case", REFUSED_BY_THE_SERVER, ids=lambda case: case.name)
async def test_what_the_api_server_would_refuse_is_refused_with_its_text(
    ns: NamespaceUnderTest, case: Case
) -> None:
    with pytest.raises(Invalid) as refused:
        await ns.create(GROUPS, case.body)
    assert _says(refused.value, case), refused.value
    assert await names_of(ns, GROUPS) == []
    assert await names_of(ns, STATEFUL_SETS) == []


async def test_an_update_of_a_template_is_checked_and_leaves_the_pods_alone(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill"), role("decode")))
    await group_settled(ns)
    with pytest.raises(Invalid, match=r"spec.roles\[1\].template.spec.restartPolicy"):
        await change(ns, [{"op": "replace", "path": "/spec/roles/1/template", "value": BROKEN}])
    found = await group_settled(ns)
    assert found.metadata.generation == 1


async def test_an_update_that_touches_no_template_asks_nothing(ns: NamespaceUnderTest) -> None:
    """Whatever the API server would say of the template now: here a policy has come since."""
    await ns.create(GROUPS, group("llm", role("prefill"), role("decode")))
    await group_settled(ns)
    asked: list[str] = []

    async def refuse(request: Json) -> Json:
        asked.append(request["kind"]["kind"])
        return {"allowed": False, "status": {"code": 422, "message": "no more of these"}}

    other = [{"op": "replace", "path": "/spec/roles/0/template", "value": template("engine:2")}]
    async with _webhook(ns, refuse):
        asked.clear()
        await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 0}])
        await change(ns, [{"op": "add", "path": "/spec/paused", "value": True}])
        assert asked == []
        with pytest.raises(Invalid, match="no more of these"):
            await change(ns, other)
        assert asked == ["StatefulSet"]


async def test_a_dry_run_that_cannot_be_made_is_a_warning_and_no_refusal(
    ns: NamespaceUnderTest,
) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/statefulsets.apps": "0"}}}
    await ns.create(QUOTAS, quota)

    async def counted() -> Json:
        found: Json = await ns.client.get(QUOTAS, "none", ns.name)
        return found

    await eventually(counted, lambda one: "used" in one.get("status", {}), "the quota to count")
    code, said = await ns.kubectl("apply", "-f", "-", stdin=group("llm", role("prefill")))
    assert code == 0
    assert "Warning: spec.roles[0]: the API server could not say whether it takes the" in said
    assert "exceeded quota" in said


async def test_a_policy_that_forbids_the_workload_is_a_warning(ns: NamespaceUnderTest) -> None:
    """A 403 says who may do what at this moment, not that the template is wrong."""

    async def forbid(_request: Json) -> Json:
        return {"allowed": False, "status": {"message": "not during the freeze"}}

    async with _webhook(ns, forbid):
        code, said = await ns.kubectl("apply", "-f", "-", stdin=group("llm", role("prefill")))
    assert code == 0
    assert "Warning: spec.roles[0]: the API server could not say" in said
    assert "not during the freeze" in said


async def test_an_api_server_that_does_not_answer_in_time_refuses_no_group(
    ns: NamespaceUnderTest,
) -> None:
    released = asyncio.Event()

    async def hang(request: Json) -> Json:
        if request.get("dryRun"):
            await released.wait()
        return {"allowed": True}

    async with _webhook(ns, hang):
        code, said = await ns.kubectl("apply", "-f", "-", stdin=group("llm", role("prefill")))
        released.set()
    assert (code, "no answer within 4 s" in said) == (0, True), said


async def test_a_group_in_a_namespace_that_is_going_away_can_still_be_edited(
    ns: NamespaceUnderTest,
) -> None:
    body = group("llm", role("prefill"))
    body["metadata"]["finalizers"] = ["example.com/keep"]
    await ns.create(GROUPS, body)
    await group_settled(ns)
    await ns.client.delete(NAMESPACES, ns.name)

    async def terminating() -> bool:
        found = await ns.client.get(NAMESPACES, ns.name)
        return bool(found["metadata"].get("deletionTimestamp"))

    await eventually(terminating, bool, "the namespace to go")
    value = template("engine:2")
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/template", "value": value}])
    await change(ns, [{"op": "remove", "path": "/metadata/finalizers"}])


@asynccontextmanager
async def _webhook(ns: NamespaceUnderTest, hook: Hook) -> AsyncIterator[None]:
    """On the creation of StatefulSets in this namespace, once it is asked."""
    probed = asyncio.Event()

    async def answer(request: Json) -> Json:
        probed.set()
        return await hook(request)

    async with webhook_server() as server:
        server.hooks["sets"] = answer
        rule = {
            "apiGroups": ["apps"],
            "apiVersions": ["v1"],
            "resources": ["statefulsets"],
            "operations": ["CREATE"],
        }
        name = f"sets.{ns.name}.example.com"
        labels = {"kubernetes.io/metadata.name": ns.name}
        webhook = {
            "name": name,
            "clientConfig": server.client_config("sets"),
            "rules": [rule],
            "namespaceSelector": {"matchLabels": labels},
            "sideEffects": "None",
            "timeoutSeconds": 30,
            "admissionReviewVersions": ["v1"],
        }
        await ns.client.create(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [webhook]})
        try:
            await eventually(lambda: _probe(ns, probed), bool, "the webhook to be asked")
            yield
        finally:
            await ns.client.delete(WEBHOOKS, name)


async def _probe(ns: NamespaceUnderTest, probed: asyncio.Event) -> bool:
    """Create a StatefulSet without pods until the webhook has seen one."""
    name = f"probe-{uuid.uuid4().hex[:6]}"
    labels = {"probe": name}
    body = {
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": template() | {"metadata": {"labels": labels}},
        },
    }
    with suppress(ApiError):
        await ns.client.create(STATEFUL_SETS, body, ns.name)
    return probed.is_set()
