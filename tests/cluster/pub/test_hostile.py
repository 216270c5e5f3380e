"""Objects and requests that are unusual, hostile or late: none opens or freezes a budget."""

import asyncio
import json
from collections import Counter

import aiohttp
import msgspec
import pytest

from intact.kube.resources import PUBS
from intact.operator.webhook.configuration import VALIDATING
from tests.support import objects
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually, is_available
from tests.support.objects import PDBS, PODS, STATEFUL_SETS, Json
from tests.support.pub_cases import budget
from tests.support.webhooks import webhook_server

WEB = {"app": "web"}
SELECTOR: Json = {"selector": {"matchLabels": WEB}}
ONE: Json = SELECTOR | {"maxUnavailable": 1}
PATH = "/apis/policy.kruise.io/v1alpha1/namespaces/{}/podunavailablebudgets"
MOST = 2**31 - 1


async def test_a_pod_with_the_name_of_the_probe_may_go(ns: NamespaceUnderTest) -> None:
    await ns.pods("intact-probe", "b", labels=WEB)
    await ns.budget(SELECTOR | {"minAvailable": 1}, unavailable_allowed=1)
    assert (await ns.evict("intact-probe", dry_run="All")).code == 201
    assert (await ns.evict("intact-probe")).code == 201
    assert (await ns.evict("b")).code == 429


async def test_numbers_that_no_one_can_hold_are_refused(ns: NamespaceUnderTest) -> None:
    path = PATH.format(ns.name)
    need = {"podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": MOST + 1}}
    for spec, field in (
        (SELECTOR | {"minAvailable": MOST + 1}, "spec.minAvailable"),
        (SELECTOR | {"maxUnavailable": MOST + 1}, "spec.maxUnavailable"),
        (SELECTOR | {"maxUnavailable": 10**30}, "spec.maxUnavailable"),
        (SELECTOR | {"maxUnavailable": 1.5}, "spec.maxUnavailable"),
        (ONE | need, "spec.podGroupPolicy.minReadyReplicas"),
    ):
        answer = await ns.ask("POST", path, budget(spec))
        assert answer.code == 422, answer
        assert field in answer.message
    digits = {"pub.kruise.io/protect-total-replicas": "9" * 5000}
    answer = await ns.ask("POST", path, budget(ONE, annotations=digits))
    assert answer.code == 422, answer
    assert "protect-total-replicas" in answer.message
    await ns.pods("a", labels=WEB)
    await ns.budget(SELECTOR | {"minAvailable": MOST}, desired_available=MOST)
    for status in (
        {"disruptedPods": {"x": 5}},
        {"unavailablePods": {"x": "yesterday"}},
        {"totalReplicas": MOST + 1},
        {"ledger": 5},
    ):
        code, said = await ns.kubectl(
            "patch",
            "pub",
            "budget",
            "--subresource=status",
            "--type=merge",
            f"-p={as_json(status)}",
        )
        assert code == 1, said


def as_json(status: Json) -> str:
    return json.dumps({"status": status})


class Port:
    """The webhook port, as someone meets it who is not the API server."""

    def __init__(self, ns: NamespaceUnderTest, url: str) -> None:
        self._ns = ns
        self._url = url

    async def send(self, operation: str, pod: Json, **request: object) -> Json:
        """The answer to a forged review."""
        name = pod["metadata"]["name"]
        forged = {
            "uid": "forged",
            "operation": operation,
            "namespace": self._ns.name,
            "name": name,
            "userInfo": {"username": "system:apiserver"},
            **request,
        }
        if operation != "CREATE":
            forged.setdefault("oldObject", pod)
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": forged}
        async with (
            aiohttp.ClientSession() as session,
            session.post(self._url, json=body, ssl=False) as answer,
        ):
            if answer.status != 200:
                return {"allowed": False, "status": {"code": answer.status}}
            found: Json = (await answer.json())["response"]
            return found


async def port_of(ns: NamespaceUnderTest) -> Port:
    found = await ns.client.get(VALIDATING, "intact")
    [gate] = [one for one in found.webhooks or () if one["name"] == "pods.gate.intact.dev"]
    return Port(ns, gate["clientConfig"]["url"])


async def test_forged_reviews_neither_spend_nor_freeze_a_budget(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", "c", labels=WEB)
    before = await ns.budget(ONE, current_available=3, unavailable_allowed=1)
    port = await port_of(ns)
    real = await ns.get("a")

    def forged(**metadata: object) -> Json:
        return real | {"metadata": real["metadata"] | metadata}

    image = {"name": "main", "image": "registry.example/main:2"}
    for one in (
        forged(name="unknown", uid="unknown"),
        forged(name="unknown", uid="unknown", resourceVersion="999999999999999"),
        forged(uid="another"),
        forged(uid="another", resourceVersion="abc"),
    ):
        new = one | {"spec": real["spec"] | {"containers": [image]}}
        resize = {"name": "main", "resizePolicy": [RESTART], "resources": {"limits": {"cpu": "9"}}}
        small = one | {"spec": {"containers": [resize | {"resources": {}}]}}
        await port.send("DELETE", one)
        await port.send("UPDATE", one, object=new)
        large = one | {"spec": {"containers": [resize]}}
        await port.send("UPDATE", small, object=large, subResource="resize")
        uid = {"deleteOptions": {"preconditions": {"uid": one["metadata"]["uid"]}}}
        for eviction in (uid, {}):
            await port.send("CREATE", one, object=eviction, subResource="eviction")
    now = await ns.client.get(PUBS, "budget", ns.name)
    assert now.status.ledger == before.status.ledger

    # A real pod, with a version that no API server can show.
    for version in ("999999999999999", "abc", "-1", ""):
        assert not (await port.send("DELETE", forged(resourceVersion=version)))["allowed"]
    now = await ns.client.get(PUBS, "budget", ns.name)
    assert now.status.ledger == before.status.ledger
    # With an earlier version, labels or a readiness that it does not have: the API's count.
    await port.send("DELETE", forged(resourceVersion="5", labels=WEB))
    ledger = (await ns.status()).ledger
    pod = await ns.get("a")
    versions = {record.name: record.resource_version for record in ledger.pods.values()}
    assert versions == {"a": pod["metadata"]["resourceVersion"]}
    exempt = {"annotations": {"pub.kruise.io/no-protect": "true"}, "labels": {}}
    other = await ns.get("b")
    lying = other | {"metadata": other["metadata"] | exempt, "status": {}}
    for version in (other["metadata"]["resourceVersion"], "5"):
        lying["metadata"]["resourceVersion"] = version
        assert not (await port.send("DELETE", lying))["allowed"]

    # The budget is counted on, and a real deletion goes through it.
    assert (await ns.delete("a")).code == 200
    await ns.counted(current_available=2, disrupted_pods={})
    await ns.pods("d", labels=WEB)
    await ns.counted(current_available=3)


async def test_reviews_of_another_shape_neither_flood_the_log_nor_list_pods(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.pods("a", "b", labels=WEB)
    before = await ns.budget(ONE, unavailable_allowed=1)
    port = await port_of(ns)
    real = await ns.get("a")
    lines = [operator.log.count("\n") for operator in intact_cluster.operators]
    nameless = {"metadata": {"name": ""}}
    for _ in range(50):
        for operation, pod, request in (
            ("DELETE", real, {"uid": 5}),
            ("DELETE", real, {"oldObject": 5}),
            ("UPDATE", real, {"object": []}),
            ("UPDATE", real, {"object": {"metadata": {"name": "a\n2026-01-01 INFO all is well"}}}),
            ("CREATE", real, {"subResource": "eviction", "object": {"deleteOptions": 5}}),
        ):
            await port.send(operation, pod, **request)
        for uid in ("", "intact"):
            eviction = {"deleteOptions": {"preconditions": {"uid": uid}}}
            answer = await port.send("CREATE", nameless, subResource="eviction", object=eviction)
            assert "PodList" not in json.dumps(answer)
    for operator, known in zip(intact_cluster.operators, lines, strict=True):
        assert operator.log.count("\n") - known < 100
    assert (await ns.client.get(PUBS, "budget", ns.name)).status.ledger == before.status.ledger
    assert [(await ns.delete(name)).code for name in ("a", "b")] == [200, 429]


RESTART = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}


async def test_owners_of_impossible_versions_end_no_process(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    """The API server takes any text with one slash at most for the version of an owner."""
    labels = WEB | {"test": ns.name}
    await ns.pods("a", "b", labels=labels)
    await ns.budget(ONE, total_replicas=2, unavailable_allowed=1)
    marks = [len(operator.log) for operator in intact_cluster.operators]
    versions = (
        "[/v1",
        "x\ny/v1",
        "x/v1\r\nHost: evil",
        "..",
        "../v1",
        "%zz/v1",
        "\x00/v1",
        "v1?x=y",
    )
    for number, version in enumerate(versions):
        body = objects.pod(f"p{number}", node="node-0", labels=labels)
        owner = {"apiVersion": version, "kind": "../X\n", "name": "../n", "uid": f"{number}"}
        body["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        await ns.create(PODS, body)
    await ns.counted(total_replicas=2 + len(versions), current_available=2 + len(versions))
    await asyncio.sleep(2)
    for operator, mark in zip(intact_cluster.operators, marks, strict=True):
        assert operator.process.poll() is None
        assert operator.is_ready()
        assert "cannot find out" not in operator.log[mark:]
    assert (await ns.delete("a")).code == 200
    assert (await ns.delete("p0")).code == 429


@pytest.mark.parametrize("depth", [975, 9000])
async def test_a_pod_that_nests_deeply_ends_no_process_and_may_go(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, depth: int
) -> None:
    """The API server stores managedFields of thousands of levels, whoever sends them."""
    labels = WEB | {"test": ns.name}
    fields = b'{"f:a":' * depth + b"{}" + b"}" * depth
    for name in ("a", "b"):
        body = objects.pod(name, node="node-0", labels=labels)
        body["metadata"]["managedFields"] = [
            {
                "manager": "x",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": msgspec.Raw(fields),
            }
        ]
        answer = await ns.ask("POST", PODS.path(ns.name), body)
        assert answer.code == 201, answer
    await ns.budget(ONE, total_replicas=2, unavailable_allowed=1)
    assert all(operator.is_ready() for operator in intact_cluster.operators)
    assert (await ns.evict("a")).code == 201
    assert (await ns.delete("b")).code == 429
    assert not any("RecursionError" in operator.log for operator in intact_cluster.operators)


async def test_an_eviction_is_pinned_to_its_pod(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", labels=WEB)
    await ns.budget(SELECTOR | {"minAvailable": 1}, unavailable_allowed=1)
    seen: list[str] = []

    async def look(request: Json) -> Json:
        seen.append(request["object"]["deleteOptions"]["preconditions"]["uid"])
        return {"allowed": True}

    async with webhook_server() as server:
        server.hooks["look"] = look
        body = registration(ns, server.client_config("look"))
        await ns.client.create(VALIDATING, body)
        try:
            await eventually(lambda: looked(ns, seen), bool, "the webhook to be called")
            uid = (await ns.get("a"))["metadata"]["uid"]
            assert seen[0] == uid
            assert (await ns.evict("missing")).code == 404
        finally:
            await ns.client.delete(VALIDATING, body["metadata"]["name"])
    answer = await ns.ask("POST", *eviction(ns, "a", {"preconditions": {"uid": "another"}}))
    assert (answer.code, (await ns.status()).disrupted_pods) == (409, {})
    assert (await ns.evict("a", gracePeriodSeconds=0)).code == 201
    assert (await ns.evict("b")).code == 429


async def looked(ns: NamespaceUnderTest, seen: list[str]) -> bool:
    assert (await ns.evict("a", dry_run="All")).code == 201
    return bool(seen)


async def test_hundreds_of_evictions_at_once_are_each_decided(ns: NamespaceUnderTest) -> None:
    """However long one takes: none is denied for being slow, and none is one too many."""
    names = [f"pod-{number}" for number in range(600)]
    some = asyncio.Semaphore(50)
    many = asyncio.Semaphore(300)

    async def create(name: str, node: int) -> None:
        async with some:
            await ns.create(PODS, objects.pod(name, node=f"node-{node % 3}", labels=WEB))

    async def evict(name: str) -> int | str:
        async with many:
            answer = await ns.evict(name)
            return answer.code if answer.code in (201, 429) else f"{answer.code} {answer.message}"

    await asyncio.gather(*(create(name, node) for node, name in enumerate(names)))
    await ns.running(len(names))
    await ns.budget(SELECTOR | {"maxUnavailable": "50%"}, unavailable_allowed=300)
    codes = await asyncio.gather(*map(evict, names))
    assert Counter(codes) == {201: 300, 429: 300}


def eviction(ns: NamespaceUnderTest, name: str, options: Json) -> tuple[str, Json]:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": ns.name},
        "deleteOptions": options,
    }
    return f"/api/v1/namespaces/{ns.name}/pods/{name}/eviction", body


def registration(ns: NamespaceUnderTest, client_config: Json) -> Json:
    """Of a validating webhook on the evictions of this namespace."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"look-{ns.name}"},
        "webhooks": [
            {
                "name": "look.example.com",
                "clientConfig": client_config,
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods/eviction"],
                        "operations": ["CREATE"],
                    }
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.name}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


async def test_a_pdb_or_a_webhook_that_refuses_one_pod_does_not_hold_up_the_others(
    ns: NamespaceUnderTest,
) -> None:
    """Something retries an eviction that is always refused, while the StatefulSet rolls out."""
    await ns.create(STATEFUL_SETS, stateful_set(4))
    await ns.running(4)
    await ns.budget(ONE, current_available=4, unavailable_allowed=1)
    first = {"matchLabels": {"statefulset.kubernetes.io/pod-name": "web-0"}}
    await ns.create(PDBS, {"metadata": {"name": "never"}, "spec": {"selector": first} | NEVER})
    await eventually(
        lambda: ns.client.get(PDBS, "never", ns.name),
        lambda found: found.get("status", {}).get("currentHealthy") == 1,
        "the PodDisruptionBudget to be counted",
    )
    answer = await ns.evict("web-0")
    assert answer.code == 429
    assert "the PodDisruptionBudget never needs 1 healthy pods and has 1" in answer.message
    assert (await ns.status()).disrupted_pods == {}

    async def refuse(request: Json) -> Json:
        return {"allowed": request["name"] != "web-1", "status": {"code": 403}}

    async with webhook_server() as server:
        server.hooks["refuse"] = refuse
        body = registration(ns, server.client_config("refuse"))
        await ns.client.create(VALIDATING, body)
        await eventually(
            lambda: ns.evict("web-1", dry_run="All"),
            lambda answer: answer.code == 403,
            "the webhook to refuse",
        )
        insisting = [
            asyncio.create_task(insist(ns, name, pause))
            for name, pause in (("web-0", 0.5), ("web-1", 2.0))
        ]
        try:
            image = [{"name": "main", "image": "registry.example/main:2"}]
            template = {"spec": {"template": {"spec": {"containers": image}}}}
            await ns.client.patch(STATEFUL_SETS, template, "web", ns.name)
            await ns.until("all pods to be new", all_new, within=90)
            assert not any(task.done() for task in insisting)
        finally:
            for task in insisting:
                task.cancel()
            await asyncio.gather(*insisting, return_exceptions=True)
            await ns.client.delete(VALIDATING, body["metadata"]["name"])


async def test_pods_of_one_group_that_are_refused_do_not_hold_its_unit_in_turn(
    ns: NamespaceUnderTest,
) -> None:
    """Each of them is free while the record of the other one holds the group down."""
    for name in ("a-0", "a-1", "b-0", "b-1"):
        await ns.pods(name, labels=WEB | {"shard": name[0]})
    policy = {"podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 2}}
    await ns.budget(ONE | policy, current_available=2, unavailable_allowed=1)

    async def refuse(request: Json) -> Json:
        return {"allowed": not request["name"].startswith("a-"), "status": {"code": 403}}

    async with webhook_server() as server, asyncio.TaskGroup() as group:
        server.hooks["refuse"] = refuse
        body = registration(ns, server.client_config("refuse"))
        await ns.client.create(VALIDATING, body)
        insisting: list[asyncio.Task[None]] = []
        try:
            await eventually(
                lambda: ns.evict("a-0"), lambda answer: answer.code == 403, "the webhook to refuse"
            )
            await eventually(
                lambda: ns.evict("a-0"), lambda answer: answer.code == 429, "the record to stand"
            )
            insisting = [group.create_task(insist(ns, name, 0.5)) for name in ("a-0", "a-1")]
            assert (await ns.evict("b-0")).code == 429
            await eventually(
                lambda: ns.evict("b-0"), lambda answer: answer.code == 201, "b-0 to go", within=150
            )
        finally:
            for task in insisting:
                task.cancel()
            await ns.client.delete(VALIDATING, body["metadata"]["name"])


NEVER: Json = {"minAvailable": 1}


def all_new(pods: dict[str, Json]) -> bool:
    images = [one["spec"]["containers"][0]["image"] for one in pods.values()]
    return images == ["registry.example/main:2"] * 4 and all(map(is_available, pods.values()))


async def insist(ns: NamespaceUnderTest, name: str, pause: float) -> None:
    """Ask for an eviction again and again. Nothing may allow it."""
    while True:
        assert (await ns.evict(name)).code != 201
        await asyncio.sleep(pause)


def stateful_set(replicas: int) -> Json:
    container = {"name": "main", "image": "registry.example/main:1"}
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "serviceName": "web",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": WEB},
            "template": {"metadata": {"labels": WEB}, "spec": {"containers": [container]}},
        },
    }
