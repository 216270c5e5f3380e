"""The webhook configurations: what the API server asks about, where, and what if nobody answers."""

import base64
from typing import Any

import pytest

from intact.budget.selector_text import parse_selector
from intact.operator.webhook.configuration import (
    GATE_PATH,
    PDB_STATUS_PATH,
    PIN_PATH,
    PLACE_PATH,
    VALIDATE_RBG_PATH,
    ServiceAddress,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)

Json = dict[str, Any]

BUNDLE = b"a bundle"
OUTSIDE = UrlAddress("127.0.0.1", 9443)
INSIDE = ServiceAddress("ns", "gate")
PATHS = {
    "pods.gate.intact.dev": "/gate",
    "evictions.gate.intact.dev": "/gate",
    "evictions.door.intact.dev": "/door",
    "resizes.gate.intact.dev": "/gate",
    "budgets.intact.dev": "/validate/pub",
    "pdbs.intact.dev": "/validate/pdb",
    "settings.pdbs.intact.dev": "/validate/pdb",
    "leaving.pdbs.intact.dev": "/validate/pdb",
    "groups.intact.dev": "/validate/rbg",
    "status.pdbs.intact.dev": "/gate/pdb-status",
    "status.scoped.pdbs.intact.dev": "/gate/pdb-status",
    "pods.place.intact.dev": "/place",
    "evictions.pin.intact.dev": "/pin",
}


def webhooks(address: UrlAddress | ServiceAddress = OUTSIDE) -> dict[str, Json]:
    both = (validating_configuration(address, BUNDLE), mutating_configuration(address, BUNDLE))
    return {one["name"]: one for body in both for one in body["webhooks"]}


def test_every_webhook_has_its_path() -> None:
    assert webhooks().keys() == PATHS.keys()


def test_only_selected_namespaces_are_gated() -> None:
    selected = parse_selector("env=prod,!old")
    bodies = (
        validating_configuration(INSIDE, BUNDLE, selected=selected),
        mutating_configuration(INSIDE, BUNDLE, selected=selected),
    )
    asked = {
        webhook["name"]: webhook["namespaceSelector"].get("matchExpressions", [])[2:]
        for body in bodies
        for webhook in body["webhooks"]
    }
    wanted = [
        {"key": "env", "operator": "In", "values": ["prod"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    narrowed = {name for name, expressions in asked.items() if expressions == wanted}
    assert narrowed == {
        "pods.gate.intact.dev",
        "evictions.gate.intact.dev",
        "resizes.gate.intact.dev",
        "evictions.pin.intact.dev",
    }
    assert all(not asked[name] for name in asked.keys() - narrowed)


@pytest.mark.parametrize("name", PATHS)
def test_webhooks_outside_a_cluster_are_called_by_url(name: str) -> None:
    assert webhooks()[name]["clientConfig"] == {
        "url": f"https://127.0.0.1:9443{PATHS[name]}",
        "caBundle": base64.b64encode(BUNDLE).decode(),
    }


@pytest.mark.parametrize("name", PATHS)
def test_webhooks_in_a_cluster_are_called_by_their_service(name: str) -> None:
    service = {"namespace": "ns", "name": "gate", "port": 443, "path": PATHS[name]}
    assert webhooks(INSIDE)[name]["clientConfig"]["service"] == service


def test_a_url_with_an_ipv6_address() -> None:
    config = UrlAddress("::1", 9443).client_config("/gate")
    assert config == {"url": "https://[::1]:9443/gate"}


@pytest.mark.parametrize("address", [OUTSIDE, INSIDE])
@pytest.mark.parametrize(
    ("path", "names"),
    [
        (VALIDATE_RBG_PATH, ["groups.intact.dev"]),
        (PLACE_PATH, ["pods.place.intact.dev"]),
        (PDB_STATUS_PATH, ["status.pdbs.intact.dev", "status.scoped.pdbs.intact.dev"]),
        (PIN_PATH, ["evictions.pin.intact.dev"]),
        (GATE_PATH, [name for name, path in PATHS.items() if path == GATE_PATH]),
    ],
)
def test_only_paths_that_are_answered_are_registered(
    address: UrlAddress | ServiceAddress, path: str, names: list[str]
) -> None:
    both = (
        validating_configuration(address, BUNDLE, (), [path]),
        mutating_configuration(address, BUNDLE, (), [path]),
    )
    assert [one["name"] for body in both for one in body["webhooks"]] == names


def test_only_labelled_namespaces_are_gated_and_some_never() -> None:
    body = validating_configuration(INSIDE, BUNDLE, ["intact-system"])
    exempt = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["intact-system", "kube-system"],
    }

    def labelled(label: str) -> Json:
        return {"matchExpressions": [{"key": label, "operator": "In", "values": ["true"]}, exempt]}

    expected = labelled("intact.dev/gated")
    for webhook in body["webhooks"]:
        gates, doors = ".gate." in webhook["name"], ".door." in webhook["name"]
        selected = expected if gates else labelled("intact.dev/door") if doors else {}
        assert webhook["namespaceSelector"] == selected
        writes = gates or webhook["name"] == "leaving.pdbs.intact.dev"
        assert webhook["sideEffects"] == ("NoneOnDryRun" if writes else "None")
    mutating = mutating_configuration(INSIDE, BUNDLE, ["intact-system"])["webhooks"]
    for webhook in mutating:
        pins = webhook["name"] == "evictions.pin.intact.dev"
        assert webhook["namespaceSelector"] == (expected if pins else {})


@pytest.mark.parametrize("name", PATHS)
def test_a_webhook_that_does_not_answer_refuses(name: str) -> None:
    ignored = name in (
        "settings.pdbs.intact.dev",
        "leaving.pdbs.intact.dev",
        "evictions.door.intact.dev",
        "pods.place.intact.dev",
    )
    assert webhooks()[name]["failurePolicy"] == ("Ignore" if ignored else "Fail")


def test_only_pods_of_role_based_groups_are_labelled_and_placed() -> None:
    place = webhooks()["pods.place.intact.dev"]
    key = "rolebasedgroup.workloads.x-k8s.io/name"
    assert place["objectSelector"] == {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    assert place["timeoutSeconds"] < 10


@pytest.mark.parametrize(
    "name", ["pdbs.intact.dev", "leaving.pdbs.intact.dev", "status.pdbs.intact.dev"]
)
def test_pdbs_without_the_label_never_reach_us(name: str) -> None:
    expressions = webhooks()[name]["objectSelector"]["matchExpressions"]
    assert expressions[0] == {"key": "intact.dev/budget-scope", "operator": "Exists"}
    assert expressions[1]["operator"] == "NotIn"
