"""The rights of the operator; that they suffice: tests/cluster/install/test_account.py."""

from typing import Any

import pytest

from intact.operator.install.rbac import OWNERS_LABEL, OWNERS_ROLE, access
from intact.operator.names import LEASE, NAMESPACE
from intact.operator.webhook.certificates import SECRET
from intact.operator.webhook.configuration import NAME

Json = dict[str, Any]

OBJECTS = {(one["kind"], one["metadata"]["name"]): one for one in access("home")}
CLUSTER_RULES: list[Json] = OBJECTS["ClusterRole", "intact"]["rules"]
OWN_RULES: list[Json] = OBJECTS["Role", "intact"]["rules"]


def verbs(rules: list[Json], resource: str, *, named: str = "") -> set[str]:
    return {
        verb
        for rule in rules
        if resource in rule["resources"] and rule.get("resourceNames", [""]) == [named]
        for verb in rule["verbs"]
    }


def test_every_role_is_bound_to_the_account() -> None:
    account = {"kind": "ServiceAccount", "name": "intact", "namespace": "home"}
    for (kind, name), one in OBJECTS.items():
        if kind in ("ClusterRole", "Role"):
            binding = OBJECTS[f"{kind}Binding", f"{name}-home" if kind == "ClusterRole" else name]
            assert binding["subjects"] == [account]
            assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (kind, name)
            assert one["metadata"].get("namespace") == binding["metadata"].get("namespace")


def test_no_right_is_for_everything() -> None:
    for rule in CLUSTER_RULES + OWN_RULES:
        assert "*" not in rule["verbs"]
        assert "*" not in rule["resources"]
        if "*" in rule["apiGroups"]:
            assert (rule["resources"], rule["verbs"]) == (["*/scale"], ["get"])


def test_pods_are_never_deleted_only_evicted() -> None:
    assert verbs(CLUSTER_RULES, "pods") == {"get", "list", "watch", "patch"}
    assert verbs(CLUSTER_RULES, "pods/eviction") == {"create"}


def test_secrets_and_leases_are_its_own() -> None:
    assert verbs(CLUSTER_RULES, "secrets") == verbs(CLUSTER_RULES, "leases") == set()
    assert verbs(OWN_RULES, "secrets") == {"create"}
    assert verbs(OWN_RULES, "secrets", named=SECRET) == {"get", "update", "delete"}
    assert verbs(OWN_RULES, "leases", named=LEASE) == {"get", "list", "watch", "update"}


def test_only_its_own_registration_is_changed() -> None:
    for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        assert verbs(CLUSTER_RULES, resource) == {"create"}
        assert "update" in verbs(CLUSTER_RULES, resource, named=NAME)


def test_kinds_of_owners_are_added_by_a_label() -> None:
    [selector] = OBJECTS["ClusterRole", OWNERS_ROLE]["aggregationRule"]["clusterRoleSelectors"]
    assert selector == {"matchLabels": {OWNERS_LABEL: "true"}}


def access_roles(*controllers: str) -> list[Json]:
    found = {(one["kind"], one["metadata"]["name"]): one for one in access("home", controllers)}
    rules: list[Json] = found["ClusterRole", "intact"]["rules"]
    return rules


def writes(rules: list[Json]) -> set[tuple[str, str]]:
    reads = {"get", "list", "watch"}
    return {
        (group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if set(rule["verbs"]) - reads
    }


_ALWAYS = {
    ("", "events"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
}
_PUB = {
    ("policy.kruise.io", "podunavailablebudgets/status"),
    ("", "namespaces"),
    ("", "pods/eviction"),
}
_DISRUPTION = {("policy", "poddisruptionbudgets/status"), ("", "pods/status")}
_PDB = {*_DISRUPTION, ("", "namespaces"), ("", "pods/eviction")}
_RBG = {
    ("workloads.x-k8s.io", "rolebasedgroups"),
    ("workloads.x-k8s.io", "rolebasedgroups/status"),
    ("workloads.x-k8s.io", "rolebasedgroups/finalizers"),
    ("workloads.x-k8s.io", "rolebasedgroupscalingadapters"),
    ("workloads.x-k8s.io", "rolebasedgroupscalingadapters/status"),
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("apps", "controllerrevisions"),
    ("leaderworkerset.x-k8s.io", "leaderworkersets"),
    ("", "services"),
    ("", "configmaps"),
    ("", "pods"),
    ("", "pods/eviction"),
}


@pytest.mark.parametrize(
    ("controllers", "written"),
    [
        (("pub",), _PUB),
        (("pdb",), _PDB),
        (("disruption",), _DISRUPTION),
        (("rbg",), _RBG),
        (("pub", "pdb"), _PUB | _PDB),
        (("pub", "pdb", "rbg"), _PUB | _PDB | _RBG),
    ],
)
def test_each_controller_writes_only_what_is_its_own(
    controllers: tuple[str, ...], written: set[tuple[str, str]]
) -> None:
    assert writes(access_roles(*controllers)) == _ALWAYS | written


def test_another_installation_does_not_take_the_rights_of_the_first() -> None:
    names = {
        place: {one["metadata"]["name"] for one in access(place) if "Binding" in one["kind"]}
        for place in (NAMESPACE, "second")
    }
    assert names[NAMESPACE] == {"intact", "intact-owners"}
    assert names["second"] == {"intact", "intact-second", "intact-owners-second"}
    of_all = [one for one in access("second") if one["kind"] == "ClusterRoleBinding"]
    assert {one["roleRef"]["name"] for one in of_all} == {"intact", "intact-owners"}
