"""The webhook configurations: what the API server asks Intact about, and where.

Selectors and CEL conditions keep objects without a budget from ever reaching Intact, so that they
are not affected while Intact is down.
"""

import base64
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from intact.budget.pdb.scope import POD_SCOPE, SCOPE_LABEL
from intact.budget.pub.conditions import EXEMPT
from intact.kube.resources import PDBS, PUBS, RBGS, Resource
from intact.model.base import View
from intact.model.meta import LabelSelector, ObjectMeta
from intact.operator.names import WRITTEN_LABELS
from intact.operator.watch.selection import EVERYWHERE, requirements
from intact.operator.webhook import cel
from intact.rollout.names import GROUP

NAME = "intact"
GATED_LABEL = "intact.dev/gated"
DOOR_LABEL = "intact.dev/door"
GATE_PATH = "/gate"
PIN_PATH = "/pin"
DOOR_PATH = "/door"
VALIDATE_PUB_PATH = "/validate/pub"
VALIDATE_PDB_PATH = "/validate/pdb"
PDB_STATUS_PATH = "/gate/pdb-status"
VALIDATE_RBG_PATH = "/validate/rbg"
PLACE_PATH = "/place"
_TIMEOUT = 10
_NEW_POD_TIMEOUT = 3
"""A pod that starts must not wait long for an Intact that hangs."""

Json = dict[str, Any]


class WebhookConfiguration(View):
    metadata: ObjectMeta
    webhooks: list[dict[str, Any]] | None = None


VALIDATING = Resource(
    WebhookConfiguration,
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
MUTATING = Resource(
    WebhookConfiguration,
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Webhooks behind a Service of the cluster."""

    namespace: str
    name: str
    port: int = 443
    prefix: str = ""
    """Of all paths."""

    def client_config(self, path: str) -> Json:
        whole = self.prefix + path
        service = {"namespace": self.namespace, "name": self.name, "port": self.port, "path": whole}
        return {"service": service}


@dataclass(frozen=True, slots=True)
class UrlAddress:
    """Webhooks outside the cluster, at an address that the API server can reach."""

    host: str
    port: int
    prefix: str = ""
    """Of all paths."""

    def client_config(self, path: str) -> Json:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {"url": f"https://{host}:{self.port}{self.prefix}{path}"}


Address = ServiceAddress | UrlAddress

IN_GROUPS = {
    "matchExpressions": [
        {"key": SCOPE_LABEL, "operator": "Exists"},
        {"key": SCOPE_LABEL, "operator": "NotIn", "values": [POD_SCOPE]},
    ]
}
"""PodDisruptionBudgets that count groups, or name a scope that does not exist."""


def validating_configuration(
    address: Address,
    ca_bundle: bytes,
    exempt_namespaces: Iterable[str] = (),
    served: Collection[str] | None = None,
    selected: LabelSelector = EVERYWHERE,
) -> Json:
    """The validating webhooks. `exempt_namespaces` are never gated, whatever their labels; `served`
    are the paths that are answered, or None for all; only `selected` namespaces are gated."""

    def webhook(name: str, path: str, rule: Json, *matching: cel.Condition) -> Json:
        found = _webhook(address, ca_bundle, name, path, rule, *matching)
        if path == GATE_PATH:
            # The gate writes to the ledger, but not for a dry run.
            found |= {
                "namespaceSelector": _labelled(GATED_LABEL, exempt_namespaces, selected),
                "sideEffects": "NoneOnDryRun",
            }
        return found

    return _configuration(
        VALIDATING,
        served,
        [
            webhook(
                "pods.gate.intact.dev",
                GATE_PATH,
                _rule("", "v1", "pods", "DELETE", "UPDATE"),
                cel.PRESENT,
                cel.NOT_OF_ITS_NAMESPACE,
                cel.DISRUPTIVE_UPDATE,
            ),
            webhook(
                "evictions.gate.intact.dev", GATE_PATH, _rule("", "v1", "pods/eviction", "CREATE")
            ),
            {
                **webhook(
                    "evictions.door.intact.dev",
                    DOOR_PATH,
                    _rule("", "v1", "pods/eviction", "CREATE"),
                ),
                "namespaceSelector": _labelled(DOOR_LABEL, exempt_namespaces),
                # It only explains: without it, the gate at the status of the budget decides.
                "failurePolicy": "Ignore",
            },
            webhook(
                "resizes.gate.intact.dev",
                GATE_PATH,
                _rule("", "v1", "pods/resize", "UPDATE"),
                cel.PRESENT,
                cel.RESTARTING_RESIZE,
            ),
            webhook(
                "budgets.intact.dev",
                VALIDATE_PUB_PATH,
                _rule(PUBS.group, PUBS.version, PUBS.plural, "CREATE", "UPDATE"),
                cel.STAYS,
            ),
            {
                **webhook(
                    "pdbs.intact.dev",
                    VALIDATE_PDB_PATH,
                    _rule(PDBS.group, PDBS.version, PDBS.plural, "CREATE", "UPDATE"),
                    cel.STAYS,
                    cel.COUNTS_GROUPS,
                ),
                "objectSelector": IN_GROUPS,
            },
            {
                # It only warns: budgets that count pods are not affected while Intact is down.
                **webhook(
                    "settings.pdbs.intact.dev",
                    VALIDATE_PDB_PATH,
                    _rule(PDBS.group, PDBS.version, PDBS.plural, "CREATE", "UPDATE"),
                    cel.STAYS,
                    cel.NOT_LABELLED,
                    cel.HAS_OWN_KEYS,
                ),
                "failurePolicy": "Ignore",
            },
            {
                # Without the label Intact has no say: it must go while Intact is down, too.
                **webhook(
                    "leaving.pdbs.intact.dev",
                    VALIDATE_PDB_PATH,
                    _rule(PDBS.group, PDBS.version, PDBS.plural, "UPDATE"),
                    cel.STAYS,
                    cel.STOPS_COUNTING_GROUPS,
                ),
                "objectSelector": IN_GROUPS,
                "failurePolicy": "Ignore",
                "sideEffects": "NoneOnDryRun",
            },
            webhook(
                "groups.intact.dev",
                VALIDATE_RBG_PATH,
                _rule(RBGS.group, RBGS.version, RBGS.plural, "CREATE", "UPDATE"),
                cel.STAYS,
            ),
        ],
    )


def _labelled(
    label: str, exempt_namespaces: Iterable[str], selected: LabelSelector = EVERYWHERE
) -> Json:
    """Namespaces with this label."""
    exempt = sorted({*EXEMPT, *exempt_namespaces})
    return {
        "matchExpressions": [
            {"key": label, "operator": "In", "values": ["true"]},
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": exempt},
            *requirements(selected),
        ]
    }


def mutating_configuration(
    address: Address,
    ca_bundle: bytes,
    exempt_namespaces: Iterable[str] = (),
    served: Collection[str] | None = None,
    selected: LabelSelector = EVERYWHERE,
) -> Json:
    """The mutating webhooks: the UID in evictions, the status of PodDisruptionBudgets that count
    groups, and revision and batch of new pods of RoleBasedGroups."""
    rule = _rule(PDBS.group, PDBS.version, f"{PDBS.plural}/status", "UPDATE")
    by_label = _webhook(
        address,
        ca_bundle,
        "status.pdbs.intact.dev",
        PDB_STATUS_PATH,
        rule,
        cel.COUNTED_GROUPS,
        cel.INTACT_DECIDES,
    )
    by_field = _webhook(
        address,
        ca_bundle,
        "status.scoped.pdbs.intact.dev",
        PDB_STATUS_PATH,
        rule,
        cel.SCOPED_BY_FIELD,
        cel.INTACT_DECIDES,
    )
    of_groups = {"matchExpressions": [{"key": GROUP, "operator": "Exists"}]}
    rule = _rule("", "v1", "pods", "CREATE")
    place = _webhook(address, ca_bundle, "pods.place.intact.dev", PLACE_PATH, rule)
    rule = _rule("", "v1", "pods/eviction", "CREATE")
    pin = _webhook(address, ca_bundle, "evictions.pin.intact.dev", PIN_PATH, rule, cel.NOT_PINNED)
    webhooks = [
        # Another webhook may remove the UID: then this one is called once more.
        {
            **pin,
            "namespaceSelector": _labelled(GATED_LABEL, exempt_namespaces, selected),
            "reinvocationPolicy": "IfNeeded",
        },
        {**by_label, "objectSelector": IN_GROUPS},
        by_field,
        {
            **place,
            "objectSelector": of_groups,
            "reinvocationPolicy": "Never",
            # Without Intact, pods are created without what it adds; the leader adds it later.
            "failurePolicy": "Ignore",
            "timeoutSeconds": _NEW_POD_TIMEOUT,
        },
    ]
    return _configuration(MUTATING, served, webhooks)


def _configuration(
    resource: Resource[WebhookConfiguration], served: Collection[str] | None, webhooks: list[Json]
) -> Json:
    def path(webhook: Json) -> str:
        config = webhook["clientConfig"]
        found: str = config["service"]["path"] if "service" in config else config["url"]
        return found

    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": NAME, "labels": dict(WRITTEN_LABELS)},
        "webhooks": [
            webhook
            for webhook in webhooks
            if served is None or any(path(webhook).endswith(each) for each in served)
        ],
    }


def _webhook(
    address: Address,
    ca_bundle: bytes,
    name: str,
    path: str,
    rule: Json,
    *matching: cel.Condition,
) -> Json:
    config = address.client_config(path)
    config["caBundle"] = base64.b64encode(ca_bundle).decode()
    return {
        "name": name,
        "clientConfig": config,
        "rules": [{"scope": "Namespaced", **rule}],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT,
        "admissionReviewVersions": ["v1"],
        **({"matchConditions": list(matching)} if matching else {}),
    }


def _rule(group: str, version: str, resource: str, *operations: str) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": list(operations),
    }
