"""What there is of Intact in a cluster: read once, for all questions."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, TypeVar

from intact.kube.client import Client
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.kube.resources import LEASES, PODS, Resource, untyped
from intact.model.lease import Lease
from intact.model.pod import Pod
from intact.operator.names import LABELS, LEASE, NAMESPACE, OPERATOR
from intact.operator.webhook.configuration import MUTATING, NAME, VALIDATING, WebhookConfiguration

Json = dict[str, Any]
T = TypeVar("T")
DEPLOYMENTS = untyped("apps", "v1", "deployments", "Deployment")
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_CONTROLLERS = "--controllers="
_FAMILIES = {"budgets.intact.dev": "pub", "pdbs.intact.dev": "pdb", "groups.intact.dev": "rbg"}
"""The webhook by which each controller is known to run."""


@dataclass(frozen=True, slots=True)
class Found:
    deployment: Json | None = None
    pods: tuple[Pod, ...] = ()
    """Of the Deployment."""
    leases: tuple[Lease, ...] = ()
    """Those that a process holds."""
    validating: WebhookConfiguration | None = None
    mutating: WebhookConfiguration | None = None
    unread: dict[str, KubeError] = field(default_factory=dict)
    """By `deployments`, `leases`, `webhooks`: what may not be read, or could not."""

    @property
    def installed(self) -> bool:
        return bool(self.deployment or self.leases or self.validating or self.mutating)

    @property
    def namespace(self) -> str:
        """Where Intact runs, or keeps its Lease and Secret."""
        if self.deployment is not None:
            return str(self.deployment["metadata"]["namespace"])
        return self.leases[0].metadata.namespace if self.leases else NAMESPACE

    @property
    def webhooks(self) -> list[Json]:
        """All that are registered."""
        both = (self.validating, self.mutating)
        return [webhook for each in both if each is not None for webhook in each.webhooks or ()]

    @property
    def exempt(self) -> Collection[str]:
        """Namespaces that are never gated, as they are registered."""
        selectors = [each.get("namespaceSelector") or {} for each in self.webhooks]
        return {
            name
            for selector in selectors
            for one in selector.get("matchExpressions") or ()
            if (one.get("key"), one.get("operator")) == (_NAMESPACE_NAME, "NotIn")
            for name in one.get("values") or ()
        }

    @property
    def controllers(self) -> Collection[str]:
        """Those that run, as the Deployment says; else by the webhooks that are registered, or all,
        if none is."""
        if chosen := self._chosen:
            return chosen
        names = {webhook.get("name", "") for webhook in self.webhooks}
        running = [controller for name, controller in _FAMILIES.items() if name in names]
        return running or list(_FAMILIES.values())

    @property
    def _chosen(self) -> list[str]:
        """What the Deployment gives to `--controllers`."""
        containers = (self.deployment or {}).get("spec", {}).get("template", {}).get("spec", {})
        arguments = [
            text for each in containers.get("containers", ()) for text in each.get("args") or ()
        ]
        named = [text for text in arguments if text.startswith(_CONTROLLERS)]
        return named[-1].removeprefix(_CONTROLLERS).split(",") if named else []


async def look(client: Client) -> Found:
    unread: dict[str, KubeError] = {}

    async def read(what: str, asked: Any, missing: Any) -> Any:
        try:
            return await asked
        except NotFound:
            return missing
        except KubeError as error:
            unread[what] = error
            return missing

    deployments, leases, validating, mutating = await asyncio.gather(
        read("deployments", _everywhere(client, DEPLOYMENTS, labels=_labels()), []),
        read("leases", _everywhere(client, LEASES, fields=f"metadata.name={LEASE}"), []),
        read("webhooks", client.get(VALIDATING, NAME), None),
        read("webhooks", client.get(MUTATING, NAME), None),
    )
    named = [each for each in deployments if each["metadata"]["name"] == OPERATOR]
    deployment = named[0] if named else None
    pods: tuple[Pod, ...] = ()
    if deployment is not None:
        place = deployment["metadata"]["namespace"]
        listed = client.list(PODS, place, labels=_labels())
        page = await read("deployments", listed, None)
        pods = tuple(page.items) if page is not None else ()
    held = tuple(each for each in leases if each.spec.holder_identity)
    return Found(deployment, pods, held, validating, mutating, unread)


def _labels() -> str:
    return ",".join(f"{key}={value}" for key, value in LABELS.items())


async def _everywhere(
    client: Client, resource: Resource[T], *, labels: str = "", fields: str = ""
) -> list[T]:
    """In all namespaces; who may not read them all reads the usual one."""
    try:
        return (await client.list(resource, labels=labels, fields=fields)).items
    except Forbidden:
        return (await client.list(resource, NAMESPACE, labels=labels, fields=fields)).items
