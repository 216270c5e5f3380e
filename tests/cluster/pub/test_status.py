"""What the conditions of a budget say while it holds nothing, and the warnings at its creation."""

from collections.abc import Mapping

from intact.kube.resources import PUBS
from intact.model.meta import Condition
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import CRDS, DEPLOYMENTS, Json, deployment
from tests.support.pub_cases import budget

GADGETS: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.status.example.com"},
    "spec": {
        "group": "status.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def target(kind: str, api_version: str = "apps/v1", name: str = "web") -> Json:
    named = {"apiVersion": api_version, "kind": kind, "name": name}
    return {"targetRef": named, "maxUnavailable": 1}


def selector(app: str, **amount: object) -> Json:
    return {"selector": {"matchLabels": {"app": app}}, **(amount or {"maxUnavailable": 1})}


async def made(
    ns: NamespaceUnderTest,
    name: str,
    spec: Json,
    annotations: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The warnings at its creation."""
    body = budget(spec, name, annotations=dict(annotations or {}))
    answer = await ns.ask("POST", PUBS.path(ns.name), body)
    assert answer.code == 201, answer
    return answer.warnings


async def never_allows(ns: NamespaceUnderTest, name: str, expected: bool) -> None:
    """Wait until the budget has the condition, or has it no more."""

    async def look() -> bool:
        return "NeverAllows" in await conditions(ns, name)

    await eventually(look, lambda found: found is expected, f"NeverAllows of {name}: {expected}")


async def conditions(ns: NamespaceUnderTest, name: str) -> dict[str, Condition]:
    return {each.type: each for each in (await ns.status(name)).conditions}


async def says(ns: NamespaceUnderTest, name: str, reason: str) -> Condition:
    """Wait until the condition Working has this reason."""

    async def look() -> Condition:
        return (await conditions(ns, name)).get("Working", Condition(type="Working", status=""))

    return await eventually(look, lambda found: found.reason == reason, f"{name}: {reason}")


async def test_working_says_why_a_budget_holds_nothing(ns: NamespaceUnderTest) -> None:
    [warning] = await made(ns, "misspelt", target("StatfulSet"))
    assert "serves no StatfulSet in apps/v1 (did you mean StatefulSet?)" in warning
    [warning] = await made(ns, "later", target("Gadget", "status.example.com/v1"))
    assert "serves no Gadget in status.example.com/v1;" in warning
    assert await made(ns, "missing", target("Deployment")) == ()
    assert await made(ns, "empty", selector("nobody")) == ()

    found = await says(ns, "misspelt", "KindNotServed")
    assert (found.status, "no StatfulSet in apps/v1" in found.message) == ("False", True)
    assert (await says(ns, "later", "KindNotServed")).status == "False"
    found = await says(ns, "missing", "WorkloadNotFound")
    assert (found.status, "no Deployment web" in found.message) == ("False", True)
    assert (await says(ns, "empty", "NoPods")).status == "Unknown"

    # What is missing comes, and goes again.
    await ns.client.create(CRDS, GADGETS)
    try:
        await ns.pods("p", labels={"app": "nobody", "test": ns.name})
        await ns.create(DEPLOYMENTS, deployment("web", replicas=1))
        assert (await says(ns, "empty", "Gated")).status == "True"
        assert (await says(ns, "missing", "Gated")).status == "True"
        await ns.delete("p")
        await ns.client.delete(DEPLOYMENTS, "web", ns.name)
        assert (await says(ns, "empty", "NoPods")).status == "Unknown"
        await says(ns, "missing", "WorkloadNotFound")
        await says(ns, "later", "WorkloadNotFound")
    finally:
        await ns.client.delete(CRDS, GADGETS["metadata"]["name"])
    await says(ns, "later", "KindNotServed")


async def test_a_budget_that_never_allows_anything_says_so(ns: NamespaceUnderTest) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=1))
    await ns.running(1)
    for name, spec, part in (
        ("zero", selector("zero", maxUnavailable=0), "maxUnavailable is 0"),
        ("percent", selector("percent", maxUnavailable="0%"), "maxUnavailable is 0%"),
        ("all", selector("all", minAvailable="100%"), "minAvailable is 100%"),
        (
            "single",
            {"targetRef": target("Deployment")["targetRef"], "minAvailable": "10%"},
            "minAvailable requires 1 pods and there is 1",
        ),
    ):
        [warning] = await made(ns, name, spec)
        assert part in warning, warning
    wrong = {"intact.dev/enforcment": "Audit", "kruise.io/pub-protect-operation": "DELETE"}
    warnings = await made(ns, "keys", selector("keys"), wrong)
    assert ["did you mean intact.dev/enforcement?" in each for each in warnings] == [True, False]

    for name in ("zero", "percent", "all", "single"):
        await never_allows(ns, name, True)
    await says(ns, "keys", "NoPods")
    told = await conditions(ns, "keys")
    assert "NeverAllows" not in told
    assert "intact.dev/enforcment" in told["KeysWithoutEffect"].message

    # Scaling up ends it.
    code, said = await ns.kubectl("scale", "deployment", "web", "--replicas=3")
    assert code == 0, said
    await never_allows(ns, "single", False)


async def test_ready_pods_of_a_deployment_that_ends_are_shown_and_free(
    ns: NamespaceUnderTest,
) -> None:
    body = deployment("web", replicas=2)
    body["metadata"]["finalizers"] = ["example.com/wait"]  # it ends, and its pods stay
    await ns.create(DEPLOYMENTS, body)
    names = await ns.running(2)
    spec = {"targetRef": target("Deployment")["targetRef"], "maxUnavailable": 0}
    await ns.budget(spec, unavailable_allowed=0, current_available=2, total_replicas=2)
    assert (await ns.delete(names[0])).code == 429
    await ns.client.delete(DEPLOYMENTS, "web", ns.name)
    await ns.counted(
        unavailable_allowed=2, current_available=2, desired_available=0, total_replicas=0
    )
    assert (await ns.delete(names[0])).code == 200
    await ns.client.patch(DEPLOYMENTS, {"metadata": {"finalizers": None}}, "web", ns.name)
