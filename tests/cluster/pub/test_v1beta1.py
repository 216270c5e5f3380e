"""Budgets written for `policy.kruise.io/v1beta1`, with the fields that it adds, as kubectl applies
them."""

import msgspec

from intact.kube.resources import untyped
from tests.support.namespace_under_test import NamespaceUnderTest

BETA = untyped("policy.kruise.io", "v1beta1", "podunavailablebudgets", "PodUnavailableBudget")
MANIFEST = {
    "apiVersion": "policy.kruise.io/v1beta1",
    "kind": "PodUnavailableBudget",
    "metadata": {"name": "budget"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "maxUnavailable": "25%",
        "protectOperations": ["DELETE", "EVICT"],
        "protectTotalReplicas": 4,
        "ignoredPodSelector": {"matchLabels": {"track": "canary"}},
    },
}


async def apply(ns: NamespaceUnderTest, *validation: str, **changes: object) -> tuple[int, str]:
    spec = {**MANIFEST["spec"], **changes}  # type: ignore[dict-item]
    body = MANIFEST | {"spec": {key: value for key, value in spec.items() if value is not None}}
    return await ns.kubectl("apply", "--validate=strict", *validation, "-f", "-", stdin=body)


async def test_a_manifest_of_v1beta1_is_applied_shown_and_held(ns: NamespaceUnderTest) -> None:
    labels = {"app": "web", "test": ns.name}
    await ns.pods("a", "b", "c", labels=labels)
    await ns.pods("canary", labels=labels | {"track": "canary"})
    code, said = await apply(ns)
    assert code == 0, said
    # The ignored pod counts as any other.
    await ns.counted(total_replicas=4, current_available=4, unavailable_allowed=1)

    code, shown = await ns.kubectl("get", "pub", "budget", "-o", "json")
    assert code == 0, shown
    preferred = msgspec.json.decode(shown)
    code, shown = await ns.kubectl(
        "get", "podunavailablebudgets.v1alpha1.policy.kruise.io", "budget", "-o", "json"
    )
    alpha = msgspec.json.decode(shown)
    assert preferred["apiVersion"] == "policy.kruise.io/v1beta1"
    assert alpha["apiVersion"] == "policy.kruise.io/v1alpha1"
    assert preferred["spec"] == alpha["spec"] == MANIFEST["spec"]
    code, shown = await ns.kubectl("get", "pub")
    assert shown.split()[:6] == ["NAME", "ALLOWED", "CURRENT", "DESIRED", "TOTAL", "AGE"]

    # UPDATE is not among the protected operations, and nothing holds the canary.
    assert (await ns.delete("a")).code == 200
    assert (await ns.evict("b")).code == 429
    assert (await ns.set_image("b", "registry.example/main:2")).code == 200
    assert (await ns.evict("canary")).code == 201

    # The fields can change. The webhook is asked about this version, too.
    code, said = await apply(ns, protectOperations=["RESIZE"], ignoredPodSelector=None)
    assert code == 0, said
    await ns.counted(observed_generation=2)
    assert (await ns.delete("b")).code == 200
    twin = MANIFEST | {"metadata": {"name": "twin"}}
    answer = await ns.ask("POST", BETA.path(ns.name), twin)
    assert answer.code == 422
    assert "overlaps with the selector of the budget budget" in answer.message
    for bad, field in (
        ({"protectOperations": ["EVICTION"]}, "spec.protectOperations[0]"),
        ({"protectTotalReplicas": 0}, "spec.protectTotalReplicas"),
        ({"ignoredPodSelector": {}}, "spec.ignoredPodSelector"),
    ):
        code, said = await apply(ns, "--dry-run=server", **bad)
        assert code == 1
        assert field in said
    code, said = await apply(ns, "--dry-run=server", ignoredPodsSelector={})
    assert 'unknown field "spec.ignoredPodsSelector"' in said
