"""What the gate asks of each operation on a pod, with real requests to a real API server."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from devcluster.api import Api
from devcluster.errors import ApiError
from devcluster.waiting import wait_for
from intact.budget.pub.ledger import RECORD_LIFETIME
from tests.support.cluster_with_intact import ClusterWithIntact, shared_house
from tests.support.namespace_under_test import (
    STATEFUL_SETS,
    TERMINATION_DELAY,
    UNREADY,
    NamespaceUnderTest,
    available_in,
    eventually,
    is_available,
    open_space,
)
from tests.support.objects import PODS, Json, pod
from tests.support.pub_cases import budget

house = pytest.fixture(scope="module")(shared_house)
space = pytest.fixture(open_space)

WEB = {"app": "web"}
SELECTOR: Json = {"selector": {"matchLabels": WEB}}
NONE: Json = SELECTOR | {"maxUnavailable": 0}
ONE: Json = SELECTOR | {"maxUnavailable": 1}
LABEL = "unavailable-pod.kruise.io/drained"
PUBS = "/apis/policy.kruise.io/v1alpha1/namespaces/{}/podunavailablebudgets"


@pytest.fixture(scope="module", autouse=True)
def lost_eviction(house: ClusterWithIntact) -> Iterator[str]:
    """A namespace where an eviction was admitted and then failed. It takes 30 s until that is
    forgiven, so it begins before the tests of this module and is looked at by the last."""
    api, namespace = house.cluster.api, "lost-eviction"
    api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/api/v1/namespaces/{namespace}"
    wait_for(lambda: api.get(f"{path}/serviceaccounts")["items"], "the default ServiceAccount")
    for name in ("a", "b", "c"):
        api.create(f"{path}/pods", pod(name, node="node-0", labels=WEB))
    spec = SELECTOR | {"minAvailable": 2}
    api.create(PUBS.format(namespace), budget(spec))
    wait_for(lambda: allowed(api, namespace) == 1, "a budget that works")
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "a", "namespace": namespace},
        "deleteOptions": {"preconditions": {"resourceVersion": "1"}},
    }
    with pytest.raises(ApiError, match="409"):
        api.create(f"{path}/pods/a/eviction", body)
    yield namespace
    api.delete(f"/api/v1/namespaces/{namespace}")


def allowed(api: Api, namespace: str) -> int:
    """As soon as the budget works; -1 before."""
    status = api.get(f"{PUBS.format(namespace)}/budget").get("status", {})
    works = any(
        each["type"] == "Working" and each["status"] == "True"
        for each in status.get("conditions", [])
    )
    return int(status["unavailableAllowed"]) if works and status["totalReplicas"] == 3 else -1


async def test_a_denial_is_a_429_with_its_cause(space: NamespaceUnderTest) -> None:
    await space.pods("a", "b", labels=WEB)
    await space.budget(NONE, total_replicas=2)
    for answer in (await space.delete("a"), await space.evict("a")):
        assert answer.code == 429
        assert answer.causes == ("DisruptionBudget",)
        assert "Pod a cannot go now: 2 of 2 pods are available" in answer.message
    assert is_available(await space.get("a"))


async def test_a_collection_is_deleted_as_far_as_the_budget_goes(space: NamespaceUnderTest) -> None:
    await space.pods(*"abcde", labels=WEB)
    await space.budget(SELECTOR | {"minAvailable": 3}, unavailable_allowed=2)
    code, said = await space.kubectl("delete", "--raw", PODS.path(space.namespace))
    assert code == 1
    assert "cannot go now: 3 of 5 pods are available; the budget budget requires 3." in said
    await space.until("three to be left", lambda pods: len(pods) == 3)
    await space.counted(current_available=3, unavailable_allowed=0, disrupted_pods={})
    code, said = await space.kubectl("delete", "pods", "--all", "--force")
    assert code == 1
    assert said.count("TooManyRequests") == 3


async def test_dry_runs_are_decided_and_stored_nowhere(space: NamespaceUnderTest) -> None:
    labels = WEB | {"space": space.namespace}
    await space.pods("a", "b", labels=labels)
    before = await space.budget(SELECTOR | {"minAvailable": 1}, unavailable_allowed=1)
    for answer in (
        await space.evict("a", dry_run="All"),
        await space.evict("a", dryRun=["All"]),
        await space.evict("a", dry_run="All", gracePeriodSeconds=0),
        await space.delete("a", dryRun=["All"]),
        await space.change("a", {"metadata": {"labels": {LABEL: "x"}}}, dryRun="All"),
    ):
        assert answer.code in (200, 201), answer
    code, said = await space.kubectl("delete", "pod", "a", "--dry-run=server")
    assert code == 0, said
    async with space.drain("node-0", "--dry-run=server") as drain:
        assert await drain.ended() == 0, drain.said
    now = await space.counted()
    assert now.metadata.resource_version == before.metadata.resource_version
    assert is_available(await space.get("a"))

    assert (await space.delete("a")).code == 200
    for answer in (
        await space.evict("b", dry_run="All"),
        await space.evict("b", dryRun=["All"]),
        await space.delete("b", dryRun=["All"]),
    ):
        assert answer.code == 429, answer


async def test_a_new_image_counts_until_it_runs_and_is_ready(space: NamespaceUnderTest) -> None:
    for name in ("a", "b"):
        body = pod(name, node="node-0", labels=WEB)
        [container] = body["spec"]["containers"]
        container["readinessProbe"] = {"initialDelaySeconds": 2, "exec": {"command": ["true"]}}
        await space.create(PODS, body)
    await space.ready("a", "b")
    await space.budget(ONE, current_available=2, unavailable_allowed=1)
    async with space.watched() as watched:
        assert (await space.set_image("a", "registry.example/main:2")).code == 200
        await space.until("a to run it", lambda pods: runs(pods["a"], "registry.example/main:2"))
        # For as long as b is asked for: held, it will not be ready before it is let.
        again: Json = {
            "metadata": {"annotations": {UNREADY: "true"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example/main:3"}]},
        }
        assert (await space.change("a", again)).code == 200
        for answer in (
            await space.set_image("b", "registry.example/main:2"),
            await space.delete("b"),
            await space.evict("b"),
        ):
            assert answer.code == 429, answer
        assert list((await space.status()).unavailable_pods) == ["a"]
        await space.annotate("a", {UNREADY: None})
        await space.counted(current_available=2, unavailable_allowed=1)
        # Not a moment before: a runs the last image, and is ready.
        a = await space.get("a")
        assert runs(a, "registry.example/main:3")
        assert is_available(a)
        assert (await space.set_image("b", "registry.example/main:2")).code == 200
        await space.counted(current_available=2, unavailable_allowed=1)
    unready = [{"a", "b"} - available_in(state) for state in watched.states]
    assert {"a"} in unready
    assert {"b"} in unready
    assert {"a", "b"} not in unready


def runs(one: Json, image: str) -> bool:
    return [status["image"] for status in one["status"]["containerStatuses"]] == [image]


async def test_the_unavailable_label_costs_a_unit_for_as_long_as_it_stands(
    space: NamespaceUnderTest,
) -> None:
    await space.pods("a", "b", labels=WEB)
    await space.budget(ONE, unavailable_allowed=1)
    assert (await space.change("a", {"metadata": {"labels": {LABEL: "x"}}})).code == 200
    assert (await space.change("a", {"metadata": {"labels": {LABEL: "y"}}})).code == 200
    answer = await space.change("b", {"metadata": {"labels": {LABEL: "x"}}})
    assert answer.code == 429
    await space.counted(current_available=1, unavailable_allowed=0, unavailable_pods={})
    assert (await space.delete("b")).code == 429
    assert (await space.change("a", {"metadata": {"labels": {LABEL: None}}})).code == 200
    await space.counted(current_available=2, unavailable_allowed=1)
    assert (await space.change("b", {"metadata": {"labels": {LABEL: "x"}}})).code == 200


async def test_what_cannot_disrupt_is_free(space: NamespaceUnderTest) -> None:
    body = pod("a", node="node-0", labels=WEB)
    sidecar = {"name": "side", "image": "registry.example/side:1", "restartPolicy": "Always"}
    body["spec"]["initContainers"] = [sidecar]
    await space.create(PODS, body)
    await space.ready("a")
    await space.budget(NONE, total_replicas=1)
    toleration = {"key": "x", "operator": "Exists", "effect": "NoSchedule"}
    for body in (
        {"metadata": {"labels": {"tier": "front"}}},
        {"metadata": {"annotations": {"note": "x"}}},
        {"spec": {"tolerations": [toleration]}},
    ):
        assert (await space.change("a", body)).code == 200, body
    debugger = {"ephemeralContainers": [{"name": "debug", "image": "registry.example/debug:1"}]}
    assert (await space.change("a", {"spec": debugger}, "ephemeralcontainers")).code == 200
    assert (await space.set_image("a", "registry.example/main:2")).code == 429
    updated = {"initContainers": [{"name": "side", "image": "registry.example/side:2"}]}
    assert (await space.change("a", {"spec": updated})).code == 429


async def test_a_pod_that_serves_nothing_is_free(space: NamespaceUnderTest) -> None:
    await space.pods("a", "done", labels=WEB)
    await space.pods("broken", labels=WEB, annotations={UNREADY: "true"})
    await space.budget(NONE, total_replicas=3)
    await space.annotate("done", {"devcluster.intact.dev/fail": "true"})
    await space.until("a failed pod", lambda pods: pods["done"]["status"]["phase"] == "Failed")
    await space.counted(total_replicas=2)
    assert (await space.delete("done")).code == 200
    assert (await space.evict("broken")).code == 201
    assert (await space.delete("a")).code == 429


async def test_an_exempt_pod_is_free(space: NamespaceUnderTest) -> None:
    await space.pods("a", labels=WEB, annotations={"pub.kruise.io/no-protect": "true"})
    await space.pods("b", labels=WEB)
    await space.budget(NONE, total_replicas=2)
    assert (await space.delete("a")).code == 200
    assert (await space.delete("b")).code == 429
    # Not by the very update that takes it out of service.
    answer = await space.change(
        "b",
        {
            "metadata": {
                "annotations": {"pub.kruise.io/no-protect": "true"},
                "labels": {"app": None},
            },
            "spec": {"containers": [{"name": "main", "image": "registry.example/main:2"}]},
        },
    )
    assert answer.code == 429


async def test_only_protected_operations_are_held(space: NamespaceUnderTest) -> None:
    await space.pods("a", "b", labels=WEB)
    await space.budget(
        NONE, annotations={"kruise.io/pub-protect-operations": "EVICT,UPDATE"}, total_replicas=2
    )
    assert (await space.evict("a")).code == 429
    assert (await space.set_image("a", "registry.example/main:2")).code == 429
    assert (await space.delete("a")).code == 200


@pytest.mark.parametrize(("policy", "code"), [("RestartContainer", 429), ("NotRequired", 200)])
async def test_a_resize_is_held_where_it_restarts_a_container(
    space: NamespaceUnderTest, policy: str, code: int
) -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
    body = pod("a", node="node-0", labels=WEB)
    [container] = body["spec"]["containers"]
    container |= {
        "resources": resources,
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy}],
    }
    await space.create(PODS, body)
    await space.ready("a")
    # A kubelet that can resize reports resources; the server refuses to resize without.
    status = (await space.get("a"))["status"]["containerStatuses"]
    status[0] |= {"resources": resources, "allocatedResources": resources["requests"]}
    await space.change("a", {"status": {"containerStatuses": status}}, "status")
    await space.budget(NONE, total_replicas=1)
    wanted = {"requests": {"cpu": "150m"}, "limits": {"cpu": "200m"}}
    resized = {"spec": {"containers": [{"name": "main", "resources": wanted}]}}
    answer = await space.change("a", resized, "resize")
    assert answer.code == code, answer


async def test_a_pod_under_its_old_name_is_a_new_pod(space: NamespaceUnderTest) -> None:
    await space.create(STATEFUL_SETS, stateful_set("web", 2))
    await space.running(2)
    await space.budget(ONE, total_replicas=2, unavailable_allowed=1)
    old = (await space.get("web-0"))["metadata"]["uid"]
    assert (await space.delete("web-0")).code == 200
    await space.until(
        "web-0 again", lambda pods: "web-0" in pods and pods["web-0"]["metadata"]["uid"] != old
    )
    await space.counted(current_available=2, unavailable_allowed=1)
    await space.annotate("web-1", {UNREADY: "true"})
    await space.counted(current_available=1, unavailable_allowed=0)
    assert (await space.delete("web-0")).code == 429
    await space.annotate("web-1", {UNREADY: None})
    await space.counted(current_available=2, unavailable_allowed=1)
    assert (await space.delete("web-0")).code == 200
    assert (await space.delete("web-1")).code == 429


def stateful_set(name: str, replicas: int, **labels: str) -> Json:
    labels = {"app": name} | labels
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": name}},
            # Going takes a while, so that what has gone is not back at once.
            "template": {
                "metadata": {"labels": labels, "annotations": {TERMINATION_DELAY: "2s"}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
            },
        },
    }


async def test_a_surplus_pod_is_free_and_then_the_group_is_held(space: NamespaceUnderTest) -> None:
    for group in ("x", "y"):
        names = [f"{group}-{number}" for number in range(3)]
        await space.pods(*names, labels=WEB | {"shard": group})
    policy = {"groupLabelKey": "shard", "minReadyReplicas": 2}
    await space.budget(NONE | {"podGroupPolicy": policy}, current_available=2)
    assert (await space.delete("x-0")).code == 200
    answer = await space.delete("x-1")
    assert answer.code == 429
    assert "Pod x-1 of group 'x' cannot go now" in answer.message
    assert (await space.evict("y-0")).code == 201
    assert (await space.evict("y-1")).code == 429
    await space.counted(current_available=2, unavailable_allowed=0)


async def test_the_rest_of_a_broken_group_is_free(space: NamespaceUnderTest) -> None:
    for group in ("x", "y"):
        names = [f"{group}-{number}" for number in range(3)]
        await space.pods(*names, labels=WEB | {"shard": group})
    await space.budget(
        ONE | {"podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 3}},
        current_available=2,
        unavailable_allowed=1,
    )
    for name in ("x-0", "x-1", "x-2"):
        assert (await space.delete(name)).code == 200
        assert (await space.delete("y-0")).code == 429


async def test_both_of_two_budgets_must_allow(space: NamespaceUnderTest) -> None:
    await space.pods("a", "b", labels=WEB | {"tier": "front"})
    await space.pods("c", labels={"tier": "front"})
    await space.budget(ONE, "wide", unavailable_allowed=1)
    tier = {"selector": {"matchLabels": {"tier": "front"}}, "maxUnavailable": 0}
    await space.budget(tier, "tight", total_replicas=3)
    answer = await space.delete("a")
    assert answer.code == 429
    assert "budget tight has" in answer.message
    assert (await space.status("wide")).disrupted_pods == {}
    code, said = await space.kubectl(
        "patch", "pub", "tight", "--type=merge", '-p={"spec":{"maxUnavailable":3}}'
    )
    assert code == 0, said
    await space.counted("tight", unavailable_allowed=3)
    assert (await space.delete("a")).code == 200
    assert "budget wide has" in (await space.delete("b")).message
    assert (await space.delete("c")).code == 200


async def test_warn_allows_with_a_warning(space: NamespaceUnderTest) -> None:
    await space.pods("a", labels=WEB)
    await space.budget(NONE, annotations={"intact.dev/enforcement": "Warn"}, total_replicas=1)
    code, said = await space.kubectl("delete", "pod", "a", "--wait=false")
    assert code == 0, said
    assert "Warning: " in said
    assert "Pod a cannot go now: 1 of 1 pods are available" in said


async def test_audit_allows_and_records(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    await space.pods("a", labels=WEB)
    await space.budget(NONE, annotations={"intact.dev/enforcement": "Audit"}, total_replicas=1)
    series = 'answer="audited",operation="DELETE",reason="BudgetExhausted"'
    name = f"intact_gate_decisions_total{{{series}}}"
    before = house.metrics().get(name, 0)
    code, said = await space.kubectl("delete", "pod", "a", "--wait=false")
    assert code == 0, said
    assert "Warning" not in said
    assert house.metrics()[name] == before + 1
    [event] = await space.events("PodUnavailableBudget", "budget", "DisruptionWouldBeDenied")
    assert "Pod a cannot go now" in event["message"]


async def test_a_denial_is_seen_on_pod_and_budget_in_metrics_and_log(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    await space.pods("a", labels=WEB)
    await space.budget(NONE, total_replicas=1)
    name = 'intact_gate_decisions_total{answer="denied",operation="EVICT",reason="BudgetExhausted"}'
    before = house.metrics().get(name, 0)
    assert (await space.evict("a")).code == 429
    assert house.metrics()[name] == before + 1
    for kind, which in (("Pod", "a"), ("PodUnavailableBudget", "budget")):
        [event] = await space.events(kind, which, "DisruptionDenied")
        assert event["type"] == "Warning"
        assert "EVICT: Pod a cannot go now" in event["message"]
    await shown(house, space, "budget", total=1, available=1, allowed=0)
    logs = "".join(replica.log for replica in house.replicas)
    line = f"budget {space.namespace}/budget denied EVICT of pod a, requested by devcluster-admin"
    assert line in logs


async def shown(
    house: ClusterWithIntact, space: NamespaceUnderTest, name: str, **units: int
) -> None:
    """Wait until every replica knows a budget, each by its own watch, with these units."""
    of_budget = f'{{budget="{name}",namespace="{space.namespace}"}}'

    async def look() -> list[dict[str, float | None]]:
        found = [replica.metrics() for replica in house.replicas]
        series = {each: f"intact_budget_{each}_units{of_budget}" for each in units}
        return [{each: metrics.get(series[each]) for each in units} for metrics in found]

    await eventually(look, lambda found: all(each == units for each in found), f"{name}: {units}")


async def test_overlapping_budgets_are_refused_as_the_proposal_says(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    async def create(name: str, **labels: str) -> tuple[int, str]:
        spec = {"selector": {"matchLabels": labels}, "maxUnavailable": 1}
        return await space.kubectl("create", "-f", "-", stdin=budget(spec, name))

    assert (await create("pub1", app="webserver"))[0] == 0
    await space.counted("pub1")
    await shown(house, space, "pub1", total=0)
    code, said = await create("same", app="webserver")
    assert code == 1
    assert "it overlaps with the selector of the budget pub1" in said
    code, said = await create("narrower", app="webserver", tier="front")
    assert code == 1
    assert "it overlaps with the selector of the budget pub1" in said
    assert (await create("other", app="db"))[0] == 0
    assert (await create("unjudged", backend="true"))[0] == 0


async def test_of_both_amounts_one_wins_and_the_writer_is_told(space: NamespaceUnderTest) -> None:
    await space.pods(*"abc", labels=WEB)
    code, said = await space.kubectl("create", "-f", "-", stdin=budget(ONE | {"minAvailable": 3}))
    assert code == 0, said
    assert "Warning: maxUnavailable and minAvailable are both set: maxUnavailable wins" in said
    await space.counted(total_replicas=3, desired_available=2, unavailable_allowed=1)


async def test_kubectl_shows_the_counts(space: NamespaceUnderTest) -> None:
    await space.pods("a", "b", "c", labels=WEB)
    await space.budget(ONE, total_replicas=3, unavailable_allowed=1)
    code, said = await space.kubectl("get", "pub")
    assert code == 0, said
    head, line = (each.split() for each in said.splitlines())
    assert [name.lower() for name in head[:5]] == ["name", "allowed", "current", "desired", "total"]
    assert line[:5] == ["budget", "1", "3", "2", "3"]


async def test_an_eviction_that_failed_gives_its_unit_back(
    house: ClusterWithIntact, lost_eviction: str, space: NamespaceUnderTest
) -> None:
    other = NamespaceUnderTest(house, lost_eviction, space.transport)
    found = await other.status()
    if found.disrupted_pods:  # not forgiven yet
        assert list(found.disrupted_pods) == ["a"]
        assert (found.current_available, found.unavailable_allowed) == (2, 0)
        answer = await other.evict("b", dry_run="All")
        age = datetime.now(UTC) - datetime.fromisoformat(found.disrupted_pods["a"])
        assert answer.code == 429 or age >= RECORD_LIFETIME, "it may be forgiven just now"
    await other.counted(current_available=3, unavailable_allowed=1)
    await other.events("Pod", "a", "NotDeleted")
    assert (await other.evict("b")).code == 201
