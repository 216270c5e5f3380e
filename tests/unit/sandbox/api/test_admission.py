"""Admission hooks: which of them are asked. What their answers do is the contract's."""

import asyncio
import base64
import json

import pytest

from intact.kube.client import Client
from intact.kube.errors import ApiError, NotFound, ServerError
from intact.kube.transport import Request
from intact.sandbox import MemoryApi, Rule, User, run
from intact.sandbox.api.builtin import NAMESPACES as NAMESPACE_KIND
from intact.sandbox.api.builtin import PODS as POD_KIND
from intact.sandbox.api.objects import Json
from intact.sandbox.api.routing import Call, Route
from tests.support.objects import (
    CONFIGMAPS,
    NAMESPACES,
    PODS,
    WIDGETS,
    configmap,
    pod,
    widget,
)

RULES: list[tuple[Rule, str, str, bool]] = [
    (Rule(("pods",)), "", "CREATE", True),
    (Rule(("pods",)), "status", "UPDATE", False),
    (Rule(("pods/status",)), "status", "UPDATE", True),
    (Rule(("pods/status",)), "", "UPDATE", False),
    (Rule(("pods/*",)), "eviction", "CREATE", True),
    (Rule(("*",)), "", "DELETE", True),
    (Rule(("*",)), "status", "UPDATE", False),
    (Rule(("*/*",)), "status", "UPDATE", True),
    (Rule(("*/status",)), "status", "UPDATE", True),
    (Rule(("*/status",)), "eviction", "CREATE", False),
    (Rule(("services", "pods")), "", "CREATE", True),
    (Rule(("services",)), "", "CREATE", False),
    (Rule(("pods",), ("DELETE",)), "", "CREATE", False),
    (Rule(("pods",), ("CREATE", "DELETE")), "", "CREATE", True),
    (Rule(("pods",), groups=("apps",)), "", "CREATE", False),
    (Rule(("pods",), groups=("", "apps")), "", "CREATE", True),
    (Rule(("pods",), versions=("v2",)), "", "CREATE", False),
]


@pytest.mark.parametrize(("rule", "subresource", "operation", "covered"), RULES)
def test_a_rule_covers_resources_and_operations(
    rule: Rule, subresource: str, operation: str, covered: bool
) -> None:
    route = Route(POD_KIND, "v1", "n", "p", subresource)
    assert rule.covers(Call(route, Request("POST", ""), User()), operation) is covered


class Counter:
    def __init__(self, answer: Json | None = None) -> None:
        self.asked: list[Json] = []
        self._answer = answer or {"allowed": True}

    async def __call__(self, request: Json) -> Json:
        self.asked.append(request)
        return self._answer


async def test_an_object_selector_looks_at_both_objects(api: MemoryApi, client: Client) -> None:
    hook = Counter()
    api.admit("h", hook, [Rule(("configmaps",))], object_selector={"matchLabels": {"a": "b"}})
    await client.create(CONFIGMAPS, configmap("x"), "default")
    assert not hook.asked
    for labels in ({"a": "b"}, {"a": "c"}, {"a": "d"}):
        await client.patch(CONFIGMAPS, {"metadata": {"labels": labels}}, "x", "default")
    assert len(hook.asked) == 2


async def test_a_namespace_selector_looks_at_the_namespace(api: MemoryApi, client: Client) -> None:
    hook = Counter()
    labels = {"matchLabels": {"guarded": "yes"}}
    api.admit("h", hook, [Rule(("*",), ("CREATE",))], namespace_selector=labels)
    await client.create(NAMESPACES, {"metadata": {"name": "x", "labels": {"guarded": "yes"}}})
    await client.create(NAMESPACES, {"metadata": {"name": "y"}})
    await client.create(CONFIGMAPS, configmap("in"), "x")
    await client.create(CONFIGMAPS, configmap("out"), "y")
    assert [(request["name"], request["namespace"]) for request in hook.asked] == [
        ("x", "x"),
        ("in", "x"),
    ]
    assert hook.asked[0]["kind"]["kind"] == NAMESPACE_KIND.kind


async def test_a_condition_keeps_a_hook_out(api: MemoryApi, client: Client) -> None:
    hook = Counter({"allowed": False})
    api.admit("h", hook, [Rule(("configmaps",))], condition=lambda review: review["name"] == "x")
    await client.create(CONFIGMAPS, configmap("y"), "default")
    with pytest.raises(ApiError, match="denied the request"):
        await client.create(CONFIGMAPS, configmap("x"), "default")


async def test_a_hook_that_fails_open(api: MemoryApi, client: Client) -> None:
    async def broken(_request: Json) -> Json:
        raise RuntimeError("broken on purpose")

    api.admit("h", broken, [Rule(("configmaps",))], fail_open=True)
    await client.create(CONFIGMAPS, configmap("x"), "default")


def test_a_hook_has_its_time() -> None:
    async def main() -> float:
        api = MemoryApi()

        async def slow(_request: Json) -> Json:
            await asyncio.sleep(60)
            return {"allowed": True}

        api.admit("h", slow, [Rule(("configmaps",))], timeout=7)
        with pytest.raises(ServerError, match=r'failed calling webhook "h": .* deadline exceeded'):
            await Client(api).create(CONFIGMAPS, configmap("x"), "default")
        return asyncio.get_running_loop().time()

    assert run(main(), seed=1) == 7


async def test_a_hook_that_was_withdrawn_is_not_asked(api: MemoryApi, client: Client) -> None:
    hook = Counter({"allowed": False})
    registered = api.admit("h", hook, [Rule(("configmaps",))])
    api.withdraw(registered)
    await client.create(CONFIGMAPS, configmap("x"), "default")
    assert not hook.asked


async def test_all_validating_hooks_are_asked_though_one_denies(
    api: MemoryApi, client: Client
) -> None:
    first, second = Counter({"allowed": False}), Counter()
    api.admit("a", first, [Rule(("configmaps",))])
    api.admit("b", second, [Rule(("configmaps",))])
    with pytest.raises(ApiError, match='"a" denied'):
        await client.create(CONFIGMAPS, configmap("x"), "default")
    assert (len(first.asked), len(second.asked)) == (1, 1)


async def test_a_hook_cannot_change_what_it_is_shown(api: MemoryApi, client: Client) -> None:
    async def meddle(request: Json) -> Json:
        request["object"]["data"]["k"] = "changed"
        return {"allowed": True}

    api.admit("h", meddle, [Rule(("configmaps",))])
    made = await client.create(CONFIGMAPS, configmap("x", {"k": "v"}), "default")
    assert made["data"] == {"k": "v"}


PATCH = base64.b64encode(json.dumps([{"op": "remove", "path": "/none"}]).encode()).decode()
ANSWERS: list[tuple[str, Json, str]] = [
    ("no type", {"allowed": True, "patch": PATCH}, "response.patch but not response.patchType"),
    (
        "a misfit",
        {"allowed": True, "patch": PATCH, "patchType": "JSONPatch"},
        "'none' does not exist",
    ),
]


@pytest.mark.parametrize(
    ("answer", "message"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS]
)
async def test_a_patch_that_cannot_be_used(
    api: MemoryApi, client: Client, answer: Json, message: str
) -> None:
    api.admit("h", Counter(answer), [Rule(("configmaps",))], mutating=True)
    with pytest.raises(ServerError, match=message):
        await client.create(CONFIGMAPS, configmap("x"), "default")


async def test_a_deletion_cannot_be_mutated(api: MemoryApi, client: Client) -> None:
    await client.create(CONFIGMAPS, configmap("x"), "default")
    answer = {"allowed": True, "patch": PATCH, "patchType": "JSONPatch"}
    api.admit("h", Counter(answer), [Rule(("configmaps",), ("DELETE",))], mutating=True)
    with pytest.raises(ServerError, match="attempted to modify the object"):
        await client.delete(CONFIGMAPS, "x", "default")


async def test_hooks_see_the_user_who_asks(api: MemoryApi, client: Client) -> None:
    hook = Counter()
    api.admit("h", hook, [Rule(("widgets",))])
    await client.create(WIDGETS, widget("a"), "default")
    other = Client(api.as_user("jane", ["team"]))
    await other.create(WIDGETS, widget("b"), "default", field_manager="by-hand")
    first, second = hook.asked
    assert first["userInfo"]["username"] == "kubernetes-admin"
    assert second["userInfo"] == {"username": "jane", "groups": ["team"]}
    assert second["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "fieldManager": "by-hand",
    }


async def test_the_server_asks_nobody_about_its_own_writes(api: MemoryApi, client: Client) -> None:
    await client.create(PODS, pod("p", node="n"), "default")
    await client.delete(PODS, "p", "default")
    hook = Counter({"allowed": False})
    api.admit("h", hook, [Rule(("pods",))])
    await api.finish_pod("default", "p")
    with pytest.raises(NotFound):
        await client.get(PODS, "p", "default")
    assert not hook.asked
