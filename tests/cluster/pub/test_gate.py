"""How the gate answers each operation on a pod, with real requests to a real API server."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from devcluster.api import Api
from devcluster.errors import ApiError
from devcluster.waiting import wait_for
from intact.budget.pub.ledger import RECORD_LIFETIME
from tests.support import resizes
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    UNREADY,
    NamespaceUnderTest,
    available_in,
    eventually,
    is_available,
)
from tests.support.objects import NODES, PODS, STATEFUL_SETS, Json, pod
from tests.support.pub_cases import budget

WEB = {"app": "web"}
SELECTOR: Json = {"selector": {"matchLabels": WEB}}
NONE: Json = SELECTOR | {"maxUnavailable": 0}
ONE: Json = SELECTOR | {"maxUnavailable": 1}
LABEL = "unavailable-pod.kruise.io/drained"
PUBS = "/apis/policy.kruise.io/v1alpha1/namespaces/{}/podunavailablebudgets"


@pytest.fixture(scope="module", autouse=True)
def lost_eviction(intact_cluster: ClusterWithIntact) -> Iterator[str]:
    """A namespace where an eviction was admitted and then failed. Its record expires after 30 s, so
    it is made before the other tests of this module, and the last test looks at it."""
    api, namespace = intact_cluster.cluster.api, "lost-eviction"
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
    """What the budget allows; -1 before it works."""
    status = api.get(f"{PUBS.format(namespace)}/budget").get("status", {})
    works = any(
        each["type"] == "Working" and each["status"] == "True"
        for each in status.get("conditions", [])
    )
    return int(status["unavailableAllowed"]) if works and status["totalReplicas"] == 3 else -1


async def test_a_denial_is_a_429_with_its_cause(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", labels=WEB)
    await ns.budget(NONE, total_replicas=2)
    for answer in (await ns.delete("a"), await ns.evict("a")):
        assert answer.code == 429
        assert answer.causes == ("DisruptionBudget",)
        assert "Pod a cannot go now: 2 of 2 pods are available" in answer.message
    assert is_available(await ns.get("a"))


async def test_a_collection_is_deleted_as_far_as_the_budget_goes(ns: NamespaceUnderTest) -> None:
    await ns.pods(*"abcde", labels=WEB)
    await ns.budget(SELECTOR | {"minAvailable": 3}, unavailable_allowed=2)
    code, said = await ns.kubectl("delete", "--raw", PODS.path(ns.name))
    assert code == 1
    assert "cannot go now: 3 of 5 pods are available; the budget budget requires 3." in said
    await ns.until("three to be left", lambda pods: len(pods) == 3)
    await ns.counted(current_available=3, unavailable_allowed=0, disrupted_pods={})
    code, said = await ns.kubectl("delete", "pods", "--all", "--force")
    assert code == 1
    assert said.count("TooManyRequests") == 3


async def test_dry_runs_are_decided_and_stored_nowhere(ns: NamespaceUnderTest) -> None:
    labels = WEB | {"test": ns.name}
    await ns.pods("a", "b", labels=labels)
    before = await ns.budget(SELECTOR | {"minAvailable": 1}, unavailable_allowed=1)
    for answer in (
        await ns.evict("a", dry_run="All"),
        await ns.evict("a", dryRun=["All"]),
        await ns.evict("a", dry_run="All", gracePeriodSeconds=0),
        await ns.delete("a", dryRun=["All"]),
        await ns.change("a", {"metadata": {"labels": {LABEL: "x"}}}, dryRun="All"),
    ):
        assert answer.code in (200, 201), answer
    code, said = await ns.kubectl("delete", "pod", "a", "--dry-run=server")
    assert code == 0, said
    async with ns.drain("node-0", "--dry-run=server") as drain:
        assert await drain.ended() == 0, drain.said
    now = await ns.counted()
    assert now.metadata.resource_version == before.metadata.resource_version
    assert is_available(await ns.get("a"))

    assert (await ns.delete("a")).code == 200
    for answer in (
        await ns.evict("b", dry_run="All"),
        await ns.evict("b", dryRun=["All"]),
        await ns.delete("b", dryRun=["All"]),
    ):
        assert answer.code == 429, answer


async def test_a_new_image_counts_until_it_runs_and_is_ready(ns: NamespaceUnderTest) -> None:
    for name in ("a", "b"):
        body = pod(name, node="node-0", labels=WEB)
        [container] = body["spec"]["containers"]
        container["readinessProbe"] = {"initialDelaySeconds": 2, "exec": {"command": ["true"]}}
        await ns.create(PODS, body)
    await ns.ready("a", "b")
    await ns.budget(ONE, current_available=2, unavailable_allowed=1)
    async with ns.watched() as watched:
        assert (await ns.set_image("a", "registry.example/main:2")).code == 200
        await ns.until("a to run it", lambda pods: runs(pods["a"], "registry.example/main:2"))
        # The annotation keeps a unready while the test asks for b.
        again: Json = {
            "metadata": {"annotations": {UNREADY: "true"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example/main:3"}]},
        }
        assert (await ns.change("a", again)).code == 200
        for answer in (
            await ns.set_image("b", "registry.example/main:2"),
            await ns.delete("b"),
            await ns.evict("b"),
        ):
            assert answer.code == 429, answer
        assert list((await ns.status()).unavailable_pods) == ["a"]
        await ns.annotate("a", {UNREADY: None})
        await ns.counted(current_available=2, unavailable_allowed=1)
        # Only now: a runs the last image and is ready.
        a = await ns.get("a")
        assert runs(a, "registry.example/main:3")
        assert is_available(a)
        assert (await ns.set_image("b", "registry.example/main:2")).code == 200
        await ns.counted(current_available=2, unavailable_allowed=1)
    unready = [{"a", "b"} - available_in(state) for state in watched.states]
    assert {"a"} in unready
    assert {"b"} in unready
    assert {"a", "b"} not in unready


def runs(one: Json, image: str) -> bool:
    return [status["image"] for status in one["status"]["containerStatuses"]] == [image]


async def test_the_unavailable_label_costs_a_unit_for_as_long_as_it_stands(
    ns: NamespaceUnderTest,
) -> None:
    await ns.pods("a", "b", labels=WEB)
    await ns.budget(ONE, unavailable_allowed=1)
    assert (await ns.change("a", {"metadata": {"labels": {LABEL: "x"}}})).code == 200
    assert (await ns.change("a", {"metadata": {"labels": {LABEL: "y"}}})).code == 200
    answer = await ns.change("b", {"metadata": {"labels": {LABEL: "x"}}})
    assert answer.code == 429
    await ns.counted(current_available=1, unavailable_allowed=0, unavailable_pods={})
    assert (await ns.delete("b")).code == 429
    assert (await ns.change("a", {"metadata": {"labels": {LABEL: None}}})).code == 200
    await ns.counted(current_available=2, unavailable_allowed=1)
    assert (await ns.change("b", {"metadata": {"labels": {LABEL: "x"}}})).code == 200


async def test_updates_that_cannot_disrupt_a_pod_are_allowed(ns: NamespaceUnderTest) -> None:
    body = pod("a", node="node-0", labels=WEB)
    sidecar = {"name": "side", "image": "registry.example/side:1", "restartPolicy": "Always"}
    body["spec"]["initContainers"] = [sidecar]
    await ns.create(PODS, body)
    await ns.ready("a")
    await ns.budget(NONE, total_replicas=1)
    toleration = {"key": "x", "operator": "Exists", "effect": "NoSchedule"}
    for body in (
        {"metadata": {"labels": {"tier": "front"}}},
        {"metadata": {"annotations": {"note": "x"}}},
        {"spec": {"tolerations": [toleration]}},
    ):
        assert (await ns.change("a", body)).code == 200, body
    debugger = {"ephemeralContainers": [{"name": "debug", "image": "registry.example/debug:1"}]}
    assert (await ns.change("a", {"spec": debugger}, "ephemeralcontainers")).code == 200
    assert (await ns.set_image("a", "registry.example/main:2")).code == 429
    updated = {"initContainers": [{"name": "side", "image": "registry.example/side:2"}]}
    assert (await ns.change("a", {"spec": updated})).code == 429


async def test_failed_and_unready_pods_may_go_under_a_spent_budget(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "done", labels=WEB)
    await ns.pods("broken", labels=WEB, annotations={UNREADY: "true"})
    await ns.budget(NONE, total_replicas=3)
    await ns.annotate("done", {"devcluster.intact.dev/fail": "true"})
    await ns.until("a failed pod", lambda pods: pods["done"]["status"]["phase"] == "Failed")
    await ns.counted(current_available=1)
    assert (await ns.delete("done")).code == 200
    assert (await ns.evict("broken")).code == 201
    assert (await ns.delete("a")).code == 429


async def test_an_exempt_pod_may_go_under_a_spent_budget(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", labels=WEB, annotations={"pub.kruise.io/no-protect": "true"})
    await ns.pods("b", labels=WEB)
    await ns.budget(NONE, total_replicas=2)
    assert (await ns.delete("a")).code == 200
    assert (await ns.delete("b")).code == 429
    # The update that disrupts the pod cannot exempt it at the same time.
    answer = await ns.change(
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


async def test_only_the_protected_operations_are_denied(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", labels=WEB)
    await ns.budget(
        NONE, annotations={"kruise.io/pub-protect-operations": "EVICT,UPDATE"}, total_replicas=2
    )
    assert (await ns.evict("a")).code == 429
    assert (await ns.set_image("a", "registry.example/main:2")).code == 429
    assert (await ns.delete("a")).code == 200


@pytest.mark.parametrize(("policy", "code"), [("RestartContainer", 429), ("NotRequired", 200)])
async def test_a_resize_is_denied_if_it_restarts_a_container(
    ns: NamespaceUnderTest, policy: str, code: int
) -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
    body = pod("a", node="node-0", labels=WEB)
    [container] = body["spec"]["containers"]
    container |= {
        "resources": resources,
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy}],
    }
    await ns.create(PODS, body)
    await ns.ready("a")
    # A kubelet that can resize reports resources; without them the server refuses to resize.
    status = (await ns.get("a"))["status"]["containerStatuses"]
    status[0] |= {"resources": resources, "allocatedResources": resources["requests"]}
    await ns.change("a", {"status": {"containerStatuses": status}}, "status")
    await ns.budget(NONE, total_replicas=1)
    wanted = {"requests": {"cpu": "150m"}, "limits": {"cpu": "200m"}}
    resized = {"spec": {"containers": [{"name": "main", "resources": wanted}]}}
    answer = await ns.change("a", resized, resizes.SUBRESOURCE)
    assert answer.code == code, answer


@pytest.mark.skipif(not resizes.OF_PODS, reason="this server does not resize pods as a whole")
@pytest.mark.parametrize(
    ("policy", "own", "code"),
    [
        ("RestartContainer", {}, 429),
        ("NotRequired", {}, 200),
        ("RestartContainer", {"cpu": "100m"}, 200),
    ],
)
async def test_a_resize_of_the_whole_pod_is_denied_if_it_restarts_a_container(
    ns: NamespaceUnderTest, policy: str, own: Json, code: int
) -> None:
    """A container without a limit has that of its pod."""
    features = {"declaredFeatures": ["InPlacePodLevelResourcesVerticalScaling"]}
    await ns.client.patch(NODES, {"status": features}, "node-0", subresource="status")
    body = pod("a", node="node-0", labels=WEB)
    body["spec"]["resources"] = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
    [container] = body["spec"]["containers"]
    container["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": policy}]
    container["resources"] = {"limits": own, "requests": own}
    await ns.create(PODS, body)
    await ns.ready("a")
    status = (await ns.get("a"))["status"]["containerStatuses"]
    status[0] |= {"resources": container["resources"], "allocatedResources": own}
    await ns.change("a", {"status": {"containerStatuses": status}}, "status")
    await ns.budget(NONE, total_replicas=1)
    resized = {"spec": {"resources": {"limits": {"cpu": "300m"}}}}
    answer = await eventually(
        lambda: ns.change("a", resized, resizes.SUBRESOURCE),
        lambda found: found.code != 403,  # until the API server has seen the features of the node
        "an answer",
    )
    assert answer.code == code, answer


async def test_a_pod_under_its_old_name_is_a_new_pod(ns: NamespaceUnderTest) -> None:
    await ns.create(STATEFUL_SETS, stateful_set("web", 2))
    await ns.running(2)
    await ns.budget(ONE, total_replicas=2, unavailable_allowed=1)
    old = (await ns.get("web-0"))["metadata"]["uid"]
    assert (await ns.delete("web-0")).code == 200
    await ns.until(
        "web-0 again", lambda pods: "web-0" in pods and pods["web-0"]["metadata"]["uid"] != old
    )
    await ns.counted(current_available=2, unavailable_allowed=1)
    await ns.annotate("web-1", {UNREADY: "true"})
    await ns.counted(current_available=1, unavailable_allowed=0)
    assert (await ns.delete("web-0")).code == 429
    await ns.annotate("web-1", {UNREADY: None})
    await ns.counted(current_available=2, unavailable_allowed=1)
    assert (await ns.delete("web-0")).code == 200
    assert (await ns.delete("web-1")).code == 429


def stateful_set(name: str, replicas: int, **labels: str) -> Json:
    labels = {"app": name} | labels
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": name}},
            # Pods take a while to terminate, so that their successors do not come at once.
            "template": {
                "metadata": {"labels": labels, "annotations": {TERMINATION_DELAY: "2s"}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
            },
        },
    }


async def test_a_surplus_pod_may_go_and_the_next_pod_of_its_group_may_not(
    ns: NamespaceUnderTest,
) -> None:
    for group in ("x", "y"):
        names = [f"{group}-{number}" for number in range(3)]
        await ns.pods(*names, labels=WEB | {"shard": group})
    policy = {"groupLabelKey": "shard", "minReadyReplicas": 2}
    await ns.budget(NONE | {"podGroupPolicy": policy}, current_available=2)
    assert (await ns.delete("x-0")).code == 200
    answer = await ns.delete("x-1")
    assert answer.code == 429
    assert "Pod x-1 of group 'x' cannot go now" in answer.message
    assert (await ns.evict("y-0")).code == 201
    assert (await ns.evict("y-1")).code == 429
    await ns.counted(current_available=2, unavailable_allowed=0)


async def test_the_rest_of_a_broken_group_may_go(ns: NamespaceUnderTest) -> None:
    for group in ("x", "y"):
        names = [f"{group}-{number}" for number in range(3)]
        await ns.pods(*names, labels=WEB | {"shard": group})
    await ns.budget(
        ONE | {"podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 3}},
        current_available=2,
        unavailable_allowed=1,
    )
    for name in ("x-0", "x-1", "x-2"):
        assert (await ns.delete(name)).code == 200
        assert (await ns.delete("y-0")).code == 429


async def test_each_of_two_budgets_of_a_pod_must_allow(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", labels=WEB | {"tier": "front"})
    await ns.pods("c", labels={"tier": "front"})
    await ns.budget(ONE, "wide", unavailable_allowed=1)
    tier = {"selector": {"matchLabels": {"tier": "front"}}, "maxUnavailable": 0}
    await ns.budget(tier, "tight", total_replicas=3)
    answer = await ns.delete("a")
    assert answer.code == 429
    assert "the budget tight requires" in answer.message
    assert (await ns.status("wide")).disrupted_pods == {}
    code, said = await ns.kubectl(
        "patch", "pub", "tight", "--type=merge", '-p={"spec":{"maxUnavailable":3}}'
    )
    assert code == 0, said
    await ns.counted("tight", unavailable_allowed=3)
    assert (await ns.delete("a")).code == 200
    assert "the budget wide requires" in (await ns.delete("b")).message
    assert (await ns.delete("c")).code == 200


async def test_warn_enforcement_allows_with_a_warning(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", labels=WEB)
    await ns.budget(NONE, annotations={"intact.dev/enforcement": "Warn"}, total_replicas=1)
    code, said = await ns.kubectl("delete", "pod", "a", "--wait=false")
    assert code == 0, said
    assert "Warning: " in said
    assert "Pod a cannot go now: 1 of 1 pods are available" in said


def decisions(ns: NamespaceUnderTest, answer: str, operation: str) -> str:
    """The series of the exhausted budget."""
    budget = f'budget="budget",kind="PodUnavailableBudget",namespace="{ns.name}"'
    labels = f'answer="{answer}",{budget},operation="{operation}",reason="BudgetExhausted"'
    return f"intact_gate_decisions_total{{{labels}}}"


async def test_audit_enforcement_allows_and_records_the_denial(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.pods("a", labels=WEB)
    await ns.budget(NONE, annotations={"intact.dev/enforcement": "Audit"}, total_replicas=1)
    name = decisions(ns, "audited", "DELETE")
    code, said = await ns.kubectl("delete", "pod", "a", "--wait=false")
    assert code == 0, said
    assert "Warning" not in said
    assert intact_cluster.metrics()[name] == 1
    [event] = await ns.events("PodUnavailableBudget", "budget", "DisruptionWouldBeDenied")
    assert "Pod a cannot go now" in event["message"]


async def test_a_denial_is_shown_by_events_metrics_and_log(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.pods("a", labels=WEB)
    await ns.budget(NONE, total_replicas=1)
    name = decisions(ns, "denied", "EVICT")
    assert (await ns.evict("a")).code == 429
    assert intact_cluster.metrics()[name] == 1
    for kind, which in (("Pod", "a"), ("PodUnavailableBudget", "budget")):
        [event] = await ns.events(kind, which, "DisruptionDenied")
        assert event["type"] == "Warning"
        assert "EVICT, requested by devcluster-admin: Pod a cannot go now" in event["message"]
    await shown(intact_cluster, ns, "budget", total=1, available=1, allowed=0)
    for _ in range(40):
        assert (await ns.evict("a")).code == 429
    line = f"budget {ns.name}/budget denied EVICT of pod a, requested by devcluster-admin"
    counts = [operator.log.count(line) for operator in intact_cluster.operators]
    assert sum(counts) >= 1
    assert max(counts) <= 2, "one line, and at most one about its repeats"
    assert len(await ns.events("Pod", "a", "DisruptionDenied")) <= len(counts)


async def shown(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, name: str, **units: int
) -> None:
    """Wait until the metrics of every operator show the budget with these units."""
    of_budget = f'{{budget="{name}",namespace="{ns.name}"}}'

    async def look() -> list[dict[str, float | None]]:
        found = [operator.metrics() for operator in intact_cluster.operators]
        series = {each: f"intact_budget_{each}_units{of_budget}" for each in units}
        return [{each: metrics.get(series[each]) for each in units} for metrics in found]

    await eventually(look, lambda found: all(each == units for each in found), f"{name}: {units}")


async def test_overlapping_budgets_are_refused_as_the_proposal_says(
    ns: NamespaceUnderTest,
) -> None:
    async def create(name: str, **labels: str) -> tuple[int, str]:
        spec = {"selector": {"matchLabels": labels}, "maxUnavailable": 1}
        return await ns.kubectl("create", "-f", "-", stdin=budget(spec, name))

    assert (await create("pub1", app="webserver"))[0] == 0
    code, said = await create("same", app="webserver")
    assert code == 1
    assert "it overlaps with the selector of the budget pub1" in said
    code, said = await create("narrower", app="webserver", tier="front")
    assert code == 1
    assert "it overlaps with the selector of the budget pub1" in said
    assert (await create("other", app="db"))[0] == 0
    assert (await create("unjudged", backend="true"))[0] == 0


async def test_max_unavailable_wins_over_min_available_with_a_warning(
    ns: NamespaceUnderTest,
) -> None:
    await ns.pods(*"abc", labels=WEB)
    code, said = await ns.kubectl("create", "-f", "-", stdin=budget(ONE | {"minAvailable": 3}))
    assert code == 0, said
    assert "Warning: maxUnavailable and minAvailable are both set: maxUnavailable wins" in said
    await ns.counted(total_replicas=3, desired_available=2, unavailable_allowed=1)


async def test_kubectl_shows_the_counts(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", "c", labels=WEB)
    await ns.budget(ONE, total_replicas=3, unavailable_allowed=1)
    code, said = await ns.kubectl("get", "pub")
    assert code == 0, said
    head, line = (each.split() for each in said.splitlines())
    assert [name.lower() for name in head[:5]] == ["name", "allowed", "current", "desired", "total"]
    assert line[:5] == ["budget", "1", "3", "2", "3"]


async def test_an_eviction_that_failed_gives_its_unit_back(
    intact_cluster: ClusterWithIntact, lost_eviction: str, ns: NamespaceUnderTest
) -> None:
    other = NamespaceUnderTest(intact_cluster.cluster, lost_eviction, ns.transport)
    found = await other.status()
    if found.disrupted_pods:  # the record has not expired yet
        assert list(found.disrupted_pods) == ["a"]
        assert (found.current_available, found.unavailable_allowed) == (2, 0)
        answer = await other.evict("b", dry_run="All")
        age = datetime.now(UTC) - datetime.fromisoformat(found.disrupted_pods["a"])
        assert answer.code == 429 or age >= RECORD_LIFETIME, "the record may have expired just now"
    await other.counted(current_available=3, unavailable_allowed=1)
    await other.events("Pod", "a", "NotDeleted")
    assert (await other.evict("b")).code == 201
