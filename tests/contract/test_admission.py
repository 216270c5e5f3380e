"""Admission: which hooks are asked, in which order, with what, and what an answer does."""

import asyncio
import base64
import json
from typing import Any

import pytest

from intact.kube.errors import ApiError, Forbidden, NotFound, ServerError, TooManyRequests
from tests.contract.backends import Backend, cached
from tests.support.objects import CONFIGMAPS, PODS, WIDGETS, Json, configmap, pod, widget
from tests.support.webhooks import Hook

ALL = ["CREATE", "UPDATE", "DELETE"]


class Recorder:
    """Hooks that record the requests they are asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Json]] = []

    def hook(self, name: str, answer: Json | None = None) -> Hook:
        async def ask(request: Json) -> Json:
            self.asked.append((name, request))
            return answer or {"allowed": True}

        return ask

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def patch_adding(key: str, value: str) -> Json:
    operations = [{"op": "add", "path": f"/data/{key}", "value": value}]
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


DENIED: Json = {
    "allowed": False,
    "status": {
        "code": 429,
        "reason": "TooManyRequests",
        "message": "not now",
        "details": {"causes": [{"reason": "DisruptionBudget", "message": "wait"}]},
    },
}


async def test_mutating_hooks_come_first_and_in_order(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("c", "validating", ["CREATE"], ["configmaps"], recorder.hook("c"))
    await backend.admit(
        "b", "mutating", ["CREATE"], ["configmaps"], recorder.hook("b", patch_adding("b", "2"))
    )
    await backend.admit(
        "a", "mutating", ["CREATE"], ["configmaps"], recorder.hook("a", patch_adding("a", "1"))
    )
    recorder.asked.clear()
    made = await backend.client.create(CONFIGMAPS, configmap("x", {"k": "v"}), backend.namespace)
    assert recorder.names == ["a", "b", "c"]
    seen = [request["object"]["data"] for _, request in recorder.asked]
    assert seen == [
        {"k": "v"},
        {"k": "v", "a": "1"},
        {"k": "v", "a": "1", "b": "2"},
    ]
    assert made["data"] == {"k": "v", "a": "1", "b": "2"}


async def test_a_denial_reaches_the_client_as_it_is(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("no", "validating", ["CREATE"], ["widgets"], recorder.hook("no", DENIED))
    with pytest.raises(TooManyRequests) as caught:
        await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    error = caught.value
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.retry_after is None
    assert str(error).startswith('admission webhook "no.')
    assert str(error).endswith("denied the request: not now")
    assert [(cause.reason, cause.message) for cause in error.causes] == [
        ("DisruptionBudget", "wait")
    ]
    with pytest.raises(NotFound):
        await backend.client.get(WIDGETS, "w", backend.namespace)


async def test_a_denial_without_a_status_is_forbidden(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit(
        "no", "validating", ["CREATE"], ["widgets"], recorder.hook("no", {"allowed": False})
    )
    with pytest.raises(ApiError) as caught:
        await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    assert caught.value.code == 400
    assert str(caught.value).endswith("denied the request without explanation")


async def test_validating_hooks_are_not_asked_after_a_mutating_denial(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("no", "mutating", ["CREATE"], ["widgets"], recorder.hook("no", DENIED))
    await backend.admit("late", "validating", ["CREATE"], ["widgets"], recorder.hook("late"))
    with pytest.raises(TooManyRequests):
        await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    assert recorder.names == ["no"]


async def test_each_operation_sends_its_objects_to_the_hook(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("v", "validating", ALL, ["widgets"], recorder.hook("v"))
    made = await backend.client.create(WIDGETS, widget("w", size=1), backend.namespace)
    await cached(backend.client, WIDGETS, "w", backend.namespace)
    await backend.client.patch(WIDGETS, {"spec": {"size": 2}}, "w", backend.namespace)
    await cached(backend.client, WIDGETS, "w", backend.namespace)
    await backend.client.delete(WIDGETS, "w", backend.namespace)

    create, update, delete = (request for _, request in recorder.asked)
    for request, operation in ((create, "CREATE"), (update, "UPDATE"), (delete, "DELETE")):
        assert request["operation"] == operation
        assert request["name"] == "w"
        assert request["namespace"] == backend.namespace
        assert request["resource"] == {
            "group": WIDGETS.group,
            "version": "v1",
            "resource": "widgets",
        }
        assert request["kind"]["kind"] == "Widget"
        assert request["dryRun"] is False
        assert request["userInfo"]["username"]
    assert create["object"]["spec"] == {"size": 1}
    assert create["oldObject"] is None
    assert update["oldObject"]["spec"] == {"size": 1}
    assert update["object"]["spec"] == {"size": 2}
    assert delete["oldObject"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert delete["object"] is None


async def test_status_writes_are_asked_by_their_own_name(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("main", "validating", ["UPDATE"], ["widgets"], recorder.hook("main"))
    await backend.admit(
        "status", "validating", ["UPDATE"], ["widgets/status"], recorder.hook("status")
    )
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    await backend.client.patch(
        WIDGETS, {"status": {"n": 1}}, "w", backend.namespace, subresource="status"
    )
    assert recorder.names == ["status"]
    assert recorder.asked[0][1]["subResource"] == "status"
    await cached(backend.client, WIDGETS, "w", backend.namespace)
    await backend.client.patch(WIDGETS, {"spec": {"size": 2}}, "w", backend.namespace)
    assert recorder.names == ["status", "main"]


async def test_the_hook_is_told_of_a_dry_run(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("v", "validating", ALL, ["widgets"], recorder.hook("v"))
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    await backend.client.create(WIDGETS, widget("x"), backend.namespace, dry_run=True)
    await backend.client.patch(WIDGETS, {"spec": {"size": 2}}, "w", backend.namespace, dry_run=True)
    await backend.client.delete(WIDGETS, "w", backend.namespace, dry_run=True)
    assert [request["dryRun"] for _, request in recorder.asked] == [False, True, True, True]


async def test_an_eviction_is_asked_once_and_its_deletion_is_not(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit(
        "evict", "validating", ["CREATE"], ["pods/eviction"], recorder.hook("evict")
    )
    await backend.admit("pods", "validating", ["UPDATE", "DELETE"], ["pods"], recorder.hook("pods"))
    await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    await backend.client.evict(PODS, "p", backend.namespace)
    assert recorder.names == ["evict"]
    request = recorder.asked[0][1]
    assert (request["operation"], request["subResource"]) == ("CREATE", "eviction")
    assert request["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert request["name"] == "p"
    assert request["object"]["metadata"]["name"] == "p"


async def test_a_graceful_deletion_is_asked_at_each_request(backend: Backend) -> None:
    recorder = Recorder()
    await backend.admit("v", "validating", ["DELETE"], ["pods"], recorder.hook("v"))
    await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    # The server may ask about one request more than once: a hook must answer it again.
    for grace, was_terminating in ((30, False), (0, True)):
        recorder.asked.clear()
        await backend.client.delete(PODS, "p", backend.namespace, grace_period_seconds=grace)
        old = recorder.asked[0][1]["oldObject"]["metadata"]
        assert ("deletionTimestamp" in old) is was_terminating


async def test_a_change_between_admission_and_storage_is_admitted_again(backend: Backend) -> None:
    """A patch without a version is decided on the object that it is stored over."""
    seen: list[Json] = []

    async def interfere(request: Json) -> Json:
        seen.append(request["oldObject"]["spec"])
        if len(seen) == 1:
            await backend.client.patch(
                WIDGETS,
                {"status": {"by": "another"}},
                "w",
                backend.namespace,
                subresource="status",
            )
        return {"allowed": True}

    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    await backend.admit("v", "validating", ["UPDATE"], ["widgets"], interfere)
    patched = await backend.client.patch(WIDGETS, {"spec": {"size": 2}}, "w", backend.namespace)
    assert len(seen) == 2
    assert (patched["spec"], patched["status"]) == ({"size": 2}, {"by": "another"})


async def test_a_change_during_the_admission_of_a_swap_conflicts(backend: Backend) -> None:
    async def interfere(request: Json) -> Json:
        if request["object"]["spec"] != {"size": 3}:
            await backend.client.patch(WIDGETS, {"spec": {"size": 3}}, "w", backend.namespace)
        return {"allowed": True}

    made = await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    await backend.admit("v", "validating", ["UPDATE"], ["widgets"], interfere)
    with pytest.raises(ApiError) as caught:
        await backend.client.update(WIDGETS, made | {"spec": {"size": 2}}, "w", backend.namespace)
    assert caught.value.code == 409
    assert (await backend.client.get(WIDGETS, "w", backend.namespace))["spec"] == {"size": 3}


async def test_a_failing_hook_refuses_the_request(backend: Backend) -> None:
    async def broken(_: Json) -> Json:
        raise RuntimeError("broken on purpose")

    await backend.admit("v", "validating", ["CREATE"], ["widgets"], broken)
    with pytest.raises(ServerError) as caught:
        await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    assert caught.value.code == 500
    assert 'failed calling webhook "v.' in str(caught.value)


async def test_warnings_of_a_hook_reach_the_client(backend: Backend) -> None:
    recorder = Recorder()
    answer = {"allowed": True, "warnings": ["think again"]}
    await backend.admit("v", "validating", ["CREATE"], ["widgets"], recorder.hook("v", answer))
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    assert backend.warnings == ["think again"]


async def test_a_hook_cannot_change_an_immutable_field(backend: Backend) -> None:
    recorder = Recorder()
    operations = [{"op": "replace", "path": "/metadata/name", "value": "other"}]
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    answer: dict[str, Any] = {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    await backend.admit("m", "mutating", ["UPDATE"], ["widgets"], recorder.hook("m", answer))
    with pytest.raises(ApiError) as caught:
        await backend.client.patch(WIDGETS, {"spec": {"size": 2}}, "w", backend.namespace)
    assert caught.value.code in (400, 422)


async def test_a_waiting_admission_does_not_hold_up_another(backend: Backend) -> None:
    """A hook that waits does not hold up another request."""
    first_may_go = asyncio.Event()

    async def wait_for_second(request: Json) -> Json:
        if request["name"] == "first":
            await first_may_go.wait()
        return {"allowed": True}

    await backend.admit("v", "validating", ["CREATE"], ["widgets"], wait_for_second)
    first = asyncio.ensure_future(
        backend.client.create(WIDGETS, widget("first"), backend.namespace)
    )
    await backend.client.create(WIDGETS, widget("second"), backend.namespace)
    assert not first.done()
    first_may_go.set()
    assert (await first)["metadata"]["name"] == "first"


async def test_a_hook_may_deny_with_403(backend: Backend) -> None:
    recorder = Recorder()
    answer = {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "no"}}
    await backend.admit("v", "validating", ["DELETE"], ["widgets"], recorder.hook("v", answer))
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    with pytest.raises(Forbidden):
        await backend.client.delete(WIDGETS, "w", backend.namespace)
    assert await backend.client.get(WIDGETS, "w", backend.namespace)
