"""The registration of the webhooks with the API server, and keeping it as it should be.

It is written by PUT, not by apply: apply leaves what others have added, and one more condition or
selector is enough to switch the gate off. An answer of the server is kept to compare with, so that
its defaults, also those of versions to come, do not count as somebody's edits.
"""

import asyncio
import base64
import logging
import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from intact.budget.pdb.scope import POD_SCOPE, SCOPE_LABEL
from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS, PUBS, RBGS, Resource
from intact.kube.retry import Backoff
from intact.kube.store import Store
from intact.model.base import View
from intact.model.meta import ObjectMeta
from intact.operator.webhook import cel as conditions
from intact.rollout.names import BATCHED

log = logging.getLogger(__name__)

NAME = "intact"
GATED_LABEL = "intact.dev/gated"
GATE_PATH = "/gate"
VALIDATE_PUB_PATH = "/validate/pub"
VALIDATE_PDB_PATH = "/validate/pdb"
PDB_STATUS_PATH = "/gate/pdb-status"
VALIDATE_RBG_PATH = "/validate/rbg"
PLACE_PATH = "/place"
NEVER_GATED = ("kube-system",)
_TIMEOUT = 10
_CHECK_EVERY = 300.0
_ATTEMPTS = 5
_BETWEEN_WRITES = 1.0
"""Seconds. Whoever keeps undoing what we write must not get us to write without end."""

Json = dict[str, Any]


class WebhookConfiguration(View):
    metadata: ObjectMeta
    webhooks: list[dict[str, Any]] | None = None


REGISTRATIONS = Resource(
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
    """The webhooks are behind a Service of the cluster."""

    namespace: str
    name: str
    port: int = 443

    def client_config(self, path: str) -> Json:
        service = {"namespace": self.namespace, "name": self.name, "port": self.port, "path": path}
        return {"service": service}


@dataclass(frozen=True, slots=True)
class UrlAddress:
    """The webhooks are outside the cluster, where the API server can reach them."""

    host: str
    port: int

    def client_config(self, path: str) -> Json:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {"url": f"https://{host}:{self.port}{path}"}


Address = ServiceAddress | UrlAddress

IN_GROUPS = {
    "matchExpressions": [
        {"key": SCOPE_LABEL, "operator": "Exists"},
        {"key": SCOPE_LABEL, "operator": "NotIn", "values": [POD_SCOPE]},
    ]
}
"""PodDisruptionBudgets that count groups, or say something that nobody understands."""


def webhook_configuration(
    address: Address,
    ca_bundle: bytes,
    exempt_namespaces: Iterable[str] = (),
    served: Collection[str] | None = None,
) -> Json:
    """The validating webhooks. `exempt_namespaces` are never gated, whatever their labels; `served`
    are the paths that are answered, all if it is None."""
    exempt = sorted({*NEVER_GATED, *exempt_namespaces})
    gated = {
        "matchExpressions": [
            {"key": GATED_LABEL, "operator": "In", "values": ["true"]},
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": exempt},
        ]
    }

    def webhook(name: str, path: str, rule: Json, *matching: conditions.Condition) -> Json:
        found = _webhook(address, ca_bundle, name, path, rule, *matching)
        if path == GATE_PATH:
            # The gate writes to the ledger, but not for a dry run.
            found |= {"namespaceSelector": gated, "sideEffects": "NoneOnDryRun"}
        return found

    return _configuration(
        REGISTRATIONS,
        served,
        [
            webhook(
                "pods.gate.intact.dev",
                GATE_PATH,
                _rule("", "v1", "pods", "DELETE", "UPDATE"),
                conditions.PRESENT,
                conditions.NOT_OF_ITS_NAMESPACE,
                conditions.DISRUPTIVE_UPDATE,
            ),
            webhook(
                "evictions.gate.intact.dev", GATE_PATH, _rule("", "v1", "pods/eviction", "CREATE")
            ),
            webhook(
                "resizes.gate.intact.dev",
                GATE_PATH,
                _rule("", "v1", "pods/resize", "UPDATE"),
                conditions.PRESENT,
                conditions.RESTARTING_RESIZE,
            ),
            webhook(
                "budgets.intact.dev",
                VALIDATE_PUB_PATH,
                _rule(PUBS.group, PUBS.version, PUBS.plural, "CREATE", "UPDATE"),
                conditions.STAYS,
            ),
            {
                **webhook(
                    "pdbs.intact.dev",
                    VALIDATE_PDB_PATH,
                    _rule(PDBS.group, PDBS.version, PDBS.plural, "CREATE", "UPDATE"),
                    conditions.STAYS,
                    conditions.COUNTS_GROUPS,
                ),
                "objectSelector": IN_GROUPS,
            },
            webhook(
                "groups.intact.dev",
                VALIDATE_RBG_PATH,
                _rule(RBGS.group, RBGS.version, RBGS.plural, "CREATE", "UPDATE"),
                conditions.STAYS,
            ),
        ],
    )


def mutating_configuration(
    address: Address, ca_bundle: bytes, served: Collection[str] | None = None
) -> Json:
    """The mutating webhooks: the status of PodDisruptionBudgets that count groups, and the place of
    pods that come in batches."""
    rule = _rule(PDBS.group, PDBS.version, f"{PDBS.plural}/status", "UPDATE")
    by_label = _webhook(
        address,
        ca_bundle,
        "status.pdbs.intact.dev",
        PDB_STATUS_PATH,
        rule,
        conditions.COUNTS_GROUPS,
    )
    by_field = _webhook(
        address,
        ca_bundle,
        "status.scoped.pdbs.intact.dev",
        PDB_STATUS_PATH,
        rule,
        conditions.SCOPED_BY_FIELD,
    )
    batched = {"matchExpressions": [{"key": BATCHED, "operator": "Exists"}]}
    rule = _rule("", "v1", "pods", "CREATE")
    place = _webhook(address, ca_bundle, "pods.place.intact.dev", PLACE_PATH, rule)
    webhooks = [
        {**by_label, "objectSelector": IN_GROUPS},
        by_field,
        {**place, "objectSelector": batched, "reinvocationPolicy": "Never"},
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
        "metadata": {"name": NAME, "labels": {"app.kubernetes.io/name": "intact"}},
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
    *matching: conditions.Condition,
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


class Registration:
    """One registration, as `wanted` says it should be at each moment."""

    def __init__(
        self,
        client: Client,
        wanted: Callable[[], Json],
        resource: Resource[WebhookConfiguration] = REGISTRATIONS,
    ) -> None:
        self.error: str | None = None
        """Why it may not be as it should be; None while all is well."""
        self._client = client
        self._wanted = wanted
        self._resource = resource
        self._stored: tuple[Json, list[Json]] | None = None
        self._woken = asyncio.Event()
        self._backoff = Backoff(first=0.2, most=30.0)
        self._rng = random.Random()

    def recheck(self) -> None:
        """Something may have changed: look again, soon."""
        self._woken.set()

    async def ensure(self) -> bool:
        """Make it so. Returns whether anything had to be written. Raises `KubeError`."""
        for _ in range(_ATTEMPTS):
            wanted = self._wanted()
            try:
                found = await self._client.get(self._resource, NAME)
            except NotFound:
                try:
                    answer = await self._client.create(self._resource, wanted)
                except AlreadyExists:
                    continue
            else:
                if self._stored == (wanted, found.webhooks):
                    return False
                version = found.metadata.resource_version
                body = wanted | {"metadata": wanted["metadata"] | {"resourceVersion": version}}
                try:
                    answer = await self._client.update(self._resource, body, NAME)
                except (Conflict, NotFound):
                    continue
                if answer.metadata.resource_version == version:
                    self._stored = (wanted, answer.webhooks or [])
                    return False
            self._stored = (wanted, answer.webhooks or [])
            log.info("the %s %s has been written", self._resource.kind, NAME)
            return True
        raise KubeError(f"the {self._resource.kind} {NAME} changes faster than it can be written")

    async def keep_registered(self) -> None:
        """Runs, on the leader, until cancelled: edits and deletions are undone as they are seen."""
        store: Store[WebhookConfiguration] = Store()
        store.subscribe(lambda _old, _new: self.recheck())
        reflector = Reflector(
            self._client, self._resource, store, fields=f"metadata.name={NAME}", rng=self._rng
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            group.create_task(self._keep())

    async def _keep(self) -> None:
        failures = 0
        while True:
            self._woken.clear()
            try:
                if await self.ensure():
                    await asyncio.sleep(_BETWEEN_WRITES)
            except KubeError as error:
                failures += 1
                if self.error != str(error):
                    log.warning("the %s %s: %s", self._resource.kind, NAME, error)
                self.error = str(error)
                await asyncio.sleep(self._backoff.delay(failures, self._rng))
                continue
            failures, self.error = 0, None
            try:
                async with asyncio.timeout(_CHECK_EVERY):
                    await self._woken.wait()
            except TimeoutError:
                continue
