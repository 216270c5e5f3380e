"""Webhooks of others that are asked about what Intact does, and fail closed: while they do not
answer, evictions and counting stop.

Those that reach none of the namespaces with a budget are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from intact.budget.selectors import Selector, check_selector
from intact.cli.check.installation.line import Line, fail, not_asked, ok, warn
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import NAMESPACES, untyped
from intact.model.listing import listed
from intact.model.meta import LabelSelector
from intact.operator.webhook.configuration import MUTATING, NAME, VALIDATING

Json = dict[str, Any]
LINE = "other webhooks"
_SERVICES = untyped("", "v1", "services", "Service")
_REQUESTS = (
    ("", "pods/eviction", "CREATE"),
    ("policy", "poddisruptionbudgets/status", "UPDATE"),
    ("policy.kruise.io", "podunavailablebudgets/status", "UPDATE"),
    ("workloads.x-k8s.io", "rolebasedgroups/status", "UPDATE"),
    ("coordination.k8s.io", "leases", "UPDATE"),
)
"""What Intact, and a drain, cannot do without."""


async def other_webhooks(client: Client, not_called: str = "") -> list[Line]:
    """`not_called` is what the server said of a webhook that it could not call."""
    lines: list[Line] = []
    try:
        namespaces = (await client.list(NAMESPACES)).items
        labels = {each.metadata.name: each.metadata.labels for each in namespaces}
    except KubeError:
        labels = {}
    number = 0
    for resource in (VALIDATING, MUTATING):
        try:
            configurations = (await client.list(resource)).items
        except KubeError as error:
            return [not_asked(LINE, error)]
        for one in configurations:
            if one.metadata.name == NAME:
                continue
            for webhook in one.webhooks or ():
                number += 1
                if asked := concerned(webhook, labels):
                    named = f"{webhook.get('name')} ({resource.kind} {one.metadata.name})"
                    lines.append(await _judge(client, webhook, named, asked, not_called))
    return lines or [ok(LINE, f"none of {number} can hold up Intact")]


async def _judge(
    client: Client, webhook: Json, named: str, asked: list[str], not_called: str
) -> Line:
    about = f"{named} is asked about {listed(asked)} and fails closed"
    if f'failed calling webhook "{webhook.get("name")}"' in not_called:
        return fail(LINE, f"{about}: the API server cannot call it, and Intact is held up")
    service = (webhook.get("clientConfig") or {}).get("service")
    if isinstance(service, dict):
        place = f"{service.get('namespace')}/{service.get('name')}"
        try:
            await client.get(_SERVICES, service.get("name", ""), service.get("namespace", ""))
        except NotFound:
            return fail(LINE, f"{about}: its Service {place} does not exist")
        except KubeError:
            pass
    return warn(LINE, f"{about}: while it does not answer, drains and counting stop")


def concerned(webhook: Json, namespaces: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The requests of Intact that a webhook is asked about and would break; none if it fails open,
    or reaches no namespace."""
    if webhook.get("failurePolicy", "Fail") != "Fail":
        return []
    if not _selects_any(webhook.get("namespaceSelector"), namespaces.values()):
        return []
    if not _selects_any(webhook.get("objectSelector"), [{}]):
        return []
    rules = webhook.get("rules") or []
    return [
        resource
        for group, resource, operation in _REQUESTS
        if any(_matches(rule, group, resource, operation) for rule in rules)
    ]


def _selects_any(given: object, every: Iterable[Mapping[str, str]]) -> bool:
    """An empty selector selects everything; one that cannot be read may, too."""
    if not given:
        return True
    try:
        selector = msgspec.convert(given, LabelSelector)
    except msgspec.ValidationError:
        return True
    if check_selector(selector):
        return True
    ready = Selector(selector)
    return any(ready.selects(labels) for labels in every)


def _matches(rule: Json, group: str, resource: str, operation: str) -> bool:
    return (
        _any_of(rule.get("apiGroups"), ("*", group))
        and _any_of(rule.get("operations"), ("*", operation))
        and _any_of(rule.get("resources"), _patterns(resource))
    )


def _any_of(values: list[str] | None, wanted: Iterable[str]) -> bool:
    return not set(values or ()).isdisjoint(wanted)


def _patterns(resource: str) -> Iterator[str]:
    """As a rule may write it."""
    name, _, subresource = resource.partition("/")
    yield resource
    if subresource:
        yield from ("*/*", f"{name}/*", f"*/{subresource}")
    else:
        yield from ("*", "*/*")
