"""Who was refused yesterday: what the audit log of the API server and the log of Intact keep."""

from collections.abc import Callable

import msgspec
import pytest

from tests.support import resizes
from tests.support.cluster_with_audit import ClusterWithAudit
from tests.support.cluster_with_intact import ClusterWithIntact, shared_cluster
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import PODS, Json, pod
from tests.support.pdb_groups import Groups
from tests.support.pub_cases import budget

ALICE = ("--as=alice", "--as-group=system:masters")
API_SERVER = ("--as=system:apiserver", "--as-group=system:masters")
WEB = {"app": "web"}
NONE: Json = {"selector": {"matchLabels": WEB}, "maxUnavailable": 0}


@pytest.fixture(scope="module")
def intact_cluster(request: pytest.FixtureRequest) -> ClusterWithIntact:
    return shared_cluster(request, ClusterWithAudit)


class Audit:
    """The audit log, as far as it is about one namespace."""

    def __init__(self, cluster: ClusterWithAudit, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    async def said(
        self, webhook: str, verb: str, resource: str, user: str, decision: str
    ) -> tuple[int, Json]:
        """The code of the last such request, and what this webhook says of it. Waits for it: the
        API server writes the log after it has answered."""

        async def look() -> list[Json]:
            return [
                each
                for each in self._cluster.requests()
                if self._is_about(each, verb, resource, user)
                and each.get("annotations", {}).get(f"{webhook}/decision") == decision
            ]

        found = await eventually(look, bool, f"{webhook} on {verb} {resource}: {decision}", 10)
        prefix = f"{webhook}/"
        annotations = {
            key.removeprefix(prefix): value
            for key, value in found[-1]["annotations"].items()
            if key.startswith(prefix)
        }
        return found[-1]["responseStatus"]["code"], annotations

    def _is_about(self, request: Json, verb: str, resource: str, user: str) -> bool:
        reference = request.get("objectRef", {})
        named = "/".join(reference[key] for key in ("resource", "subresource") if key in reference)
        who = (request.get("impersonatedUser") or request["user"])["username"]
        return (reference.get("namespace"), request["verb"], named, who) == (
            *(self._namespace, verb, resource),
            user,
        )


@pytest.fixture
def audit(intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest) -> Audit:
    assert isinstance(intact_cluster, ClusterWithAudit)
    return Audit(intact_cluster, ns.name)


def resizable(name: str) -> Json:
    made = pod(name, node="node-0", labels=WEB)
    made["spec"]["containers"][0] |= {
        "resources": {"requests": {"cpu": "100m"}},
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
    }
    return made


def eviction(ns: NamespaceUnderTest, name: str) -> Json:
    meta = {"name": name, "namespace": ns.name}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}


async def test_each_denial_of_a_pod_unavailable_budget_names_user_budget_and_reason(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, audit: Audit
) -> None:
    await ns.create(PODS, resizable("a"))
    await ns.ready("a")
    # A kubelet that can resize reports resources; without them the server refuses to resize.
    running = (await ns.get("a"))["status"]["containerStatuses"]
    running[0] |= {"resources": {"requests": {"cpu": "100m"}}}
    await ns.change("a", {"status": {"containerStatuses": running}}, "status")
    await ns.budget(NONE, total_replicas=1)
    image = {"spec": {"containers": [{"name": "main", "image": "other:2"}]}}
    cpu = {"resources": {"requests": {"cpu": "200m"}}}
    resize = {"spec": {"containers": [{"name": "main", **cpu}]}}
    evict = f"{PODS.path(ns.name, 'a')}/eviction"
    asked: dict[tuple[str, str, str], tuple[tuple[str, ...], Json | None]] = {
        ("pods.gate", "delete", "pods"): (("delete", "pod", "a"), None),
        ("evictions.gate", "create", "pods/eviction"): (
            ("create", f"--raw={evict}", "-f", "-"),
            eviction(ns, "a"),
        ),
        ("pods.gate", "patch", "pods"): (("patch", "pod", "a", "-p", text(image)), None),
    }
    if resizes.SUBRESOURCE:
        by_resize = ("patch", "pod", "a", "--subresource=resize", "-p", text(resize))
        asked["resizes.gate", "patch", "pods/resize"] = (by_resize, None)
    for (webhook, verb, resource), (command, stdin) in asked.items():
        code, said = await ns.kubectl(*command, *ALICE, stdin=stdin)
        assert code != 0, said
        assert "Pod a cannot go now" in said
        found = await audit.said(f"{webhook}.intact.dev", verb, resource, "alice", "denied")
        assert found == (
            429,
            {
                "decision": "denied",
                "budget": f"PodUnavailableBudget/{ns.name}/budget",
                "reason": "BudgetExhausted",
            },
        )
    for kind, name in (("Pod", "a"), ("PodUnavailableBudget", "budget")):
        for event in await ns.events(kind, name, "DisruptionDenied"):
            assert ", requested by alice: Pod a cannot go now" in event["message"]
    lines = logged(intact_cluster, lambda line: line.get("namespace") == ns.name)
    assert {line["operation"] for line in lines} <= {"DELETE", "EVICT", "UPDATE"}
    assert lines[0] | {"ts": "", "logger": "", "msg": "", "operation": "", "times": 0} == {
        "ts": "",
        "level": "info",
        "logger": "",
        "msg": "",
        "operation": "",
        "times": 0,
        "namespace": ns.name,
        "budget": "budget",
        "kind": "PodUnavailableBudget",
        "pod": "a",
        "group": "",
        "users": ["alice"],
        "reason": "BudgetExhausted",
        "mode": "Enforce",
        "dry_run": False,
    }


def logged(cluster: ClusterWithIntact, matches: Callable[[Json], bool]) -> list[Json]:
    lines = [line for each in cluster.operators for line in each.log.splitlines()]
    decoded = [msgspec.json.decode(line) for line in lines if line.startswith("{")]
    return [line for line in decoded if matches(line)]


def text(body: Json) -> str:
    return msgspec.json.encode(body).decode()


async def test_what_is_allowed_and_what_would_be_denied_is_there_too(
    ns: NamespaceUnderTest, audit: Audit
) -> None:
    await ns.pods("a", "b", labels=WEB)
    await ns.budget(NONE, annotations={"intact.dev/enforcement": "Audit"}, total_replicas=2)
    one = NONE | {"maxUnavailable": 1}
    code, said = await ns.kubectl("delete", "pod", "a", "--wait=false", *ALICE)
    assert code == 0, said
    webhook = "pods.gate.intact.dev"
    code, found = await audit.said(webhook, "delete", "pods", "alice", "would-deny")
    assert (code, found["reason"]) == (200, "BudgetExhausted")
    code, said = await ns.kubectl("delete", "pub", "budget")
    assert code == 0, said
    await ns.pods("a", labels=WEB)
    await ns.budget(one, unavailable_allowed=1)
    code, said = await ns.kubectl("delete", "pod", "b", "--wait=false", *ALICE)
    assert code == 0, said
    code, found = await audit.said(webhook, "delete", "pods", "alice", "allowed")
    assert (code, found["reason"]) == (200, "Budget")


async def test_a_collection_is_one_entry_with_what_was_said_of_its_first_pod(
    ns: NamespaceUnderTest, audit: Audit
) -> None:
    await ns.pods("a", "b", labels=WEB)
    await ns.budget(NONE | {"maxUnavailable": 1}, unavailable_allowed=1)
    code, said = await ns.kubectl("delete", "--raw", PODS.path(ns.name), *ALICE)
    assert code != 0, said
    webhook = "pods.gate.intact.dev"
    code, found = await audit.said(webhook, "deletecollection", "pods", "alice", "allowed")
    assert (code, found["reason"]) == (429, "Budget")


async def test_a_budget_that_is_refused_itself_is_named(
    ns: NamespaceUnderTest, audit: Audit
) -> None:
    bad = budget(NONE, "bad", annotations={"intact.dev/unhealthy-policy": "Maybe"})
    code, said = await ns.kubectl("create", "-f", "-", *ALICE, stdin=bad)
    assert code != 0
    assert "intact.dev/unhealthy-policy" in said
    found = await audit.said(
        "budgets.intact.dev", "create", "podunavailablebudgets", "alice", "denied"
    )
    assert found == (
        422,
        {
            "decision": "denied",
            "budget": f"PodUnavailableBudget/{ns.name}/bad",
            "reason": "Invalid",
        },
    )


async def test_evictions_under_a_budget_in_groups_name_group_and_budget(
    ns: NamespaceUnderTest, groups: Groups, audit: Audit
) -> None:
    for name in ("red", "blue"):
        await ns.pods(f"{name}-0", f"{name}-1", labels={**groups.labels, "shard": name})
    keys = {"intact.dev/group-label-key": "shard", "intact.dev/min-ready-replicas": "2"}
    await groups.budget(annotations=keys, maxUnavailable=1)
    await groups.counted(allowed=1, healthy=2, disruptions_allowed=2)
    llm = f"PodDisruptionBudget/{ns.name}/llm"
    assert (await ns.evict("red-0")).code == 201
    status = ("status.pdbs.intact.dev", "update", "poddisruptionbudgets/status", "system:apiserver")
    assert await audit.said(*status, "allowed") == (
        200,
        {"decision": "allowed", "budget": llm, "reason": "Budget", "group": "red"},
    )
    await groups.counted(allowed=0, healthy=1, disruptions_allowed=1)
    refused = {"decision": "denied", "budget": llm, "reason": "BudgetExhausted", "group": "blue"}

    async def evict() -> str:
        path = f"{PODS.path(ns.name, 'blue-0')}/eviction"
        stdin = eviction(ns, "blue-0")
        return (await ns.kubectl("create", f"--raw={path}", "-f", "-", *ALICE, stdin=stdin))[1]

    await eventually(evict, lambda said: "evictions.door.intact.dev" in said, "the door to deny")
    door = ("evictions.door.intact.dev", "create", "pods/eviction", "alice")
    assert await audit.said(*door, "denied") == (429, refused)
    # As the API server stores an eviction of which the door has not known: past the door.
    entry = {"disruptedPods": {"blue-0": "2026-01-01T00:00:00Z"}, "disruptionsAllowed": 0}
    patch = ("--subresource=status", "--type=merge", "-p", text({"status": entry}))
    code, said = await ns.kubectl("patch", "pdb", "llm", *patch, *API_SERVER)
    assert code != 0
    assert "Pod blue-0 of group 'blue' cannot go now" in said
    status = ("status.pdbs.intact.dev", "patch", "poddisruptionbudgets/status", "system:apiserver")
    assert await audit.said(*status, "denied") == (429, refused)
