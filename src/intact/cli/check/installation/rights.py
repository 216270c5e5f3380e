"""What the account of Intact may not do, and this release does.

The roles are compared with those of the manifests. What they lack, the server is asked about: other
roles may grant it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, not_asked, ok, skip, warn
from intact.kube.client import Client
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.kube.resources import untyped
from intact.model.listing import listed
from intact.operator.install.rbac import RBAC, access
from intact.operator.names import OPERATOR

Json = dict[str, Any]
NAME = "rights"
_ROLES = {
    "ClusterRole": untyped(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "Role": untyped(RBAC, "v1", "roles", "Role"),
    "ClusterRoleBinding": untyped(
        RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
    "RoleBinding": untyped(RBAC, "v1", "rolebindings", "RoleBinding"),
}
_REVIEWS = untyped(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)


class Right(NamedTuple):
    verb: str
    group: str
    resource: str
    name: str = ""
    namespace: str = ""
    """Empty: in all."""

    def __str__(self) -> str:
        of = f".{self.group}" if self.group and self.group != "*" else ""
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{of}{named}"


async def rights(client: Client, found: Found) -> Line:
    namespace = found.namespace
    wanted = access(namespace, found.controllers)
    try:
        there = {
            (each["kind"], each["metadata"]["name"]): await _get(client, each)
            for each in wanted
            if each["kind"] in _ROLES
        }
    except KubeError as error:
        return not_asked(NAME, error)
    if not any(there.values()):
        return skip(NAME, "there are no roles of Intact: it runs with an account of its own")
    lacking = list(_lacking(wanted, there, namespace))
    try:
        lacking = [each for each in lacking if not await _may(client, namespace, each)]
    except Forbidden:
        if lacking:
            return warn(NAME, f"the roles of Intact do not grant: {_listed(lacking)}")
    except KubeError as error:
        return not_asked(NAME, error)
    if lacking:
        message = f"Intact may not {_listed(lacking)}: apply the roles of `intact manifests`"
        return fail(NAME, message)
    return ok(NAME, f"the account {namespace}/{OPERATOR} has all that this release uses")


def _listed(lacking: Iterable[Right]) -> str:
    return listed([str(each) for each in lacking])


async def _get(client: Client, wanted: Json) -> Json | None:
    meta = wanted["metadata"]
    try:
        return await client.get(
            _ROLES[wanted["kind"]], meta["name"], str(meta.get("namespace") or "")
        )
    except NotFound:
        return None


def _lacking(
    wanted: Iterable[Json], there: Mapping[tuple[str, str], Json | None], namespace: str
) -> Iterator[Right]:
    for each in wanted:
        if not each.get("rules"):
            continue
        kind, name = each["kind"], each["metadata"]["name"]
        found = there[kind, name] if _is_bound(there.get((f"{kind}Binding", name)), each) else None
        rules = (found or {}).get("rules") or []
        place = namespace if kind == "Role" else ""
        yield from (right for right in needed(each["rules"], place) if not granted(right, rules))


def _is_bound(binding: Json | None, role: Json) -> bool:
    return binding is not None and binding["roleRef"]["name"] == role["metadata"]["name"]


def needed(rules: Iterable[Json], namespace: str = "") -> Iterator[Right]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or [""]:
                        yield Right(verb, group, resource, name, namespace)


def granted(right: Right, rules: Iterable[Json]) -> bool:
    return any(
        _has(rule.get("apiGroups"), right.group)
        and _has(rule.get("resources"), right.resource)
        and _has(rule.get("verbs"), right.verb)
        and (not rule.get("resourceNames") or right.name in rule["resourceNames"])
        for rule in rules
    )


def _has(values: list[str] | None, wanted: str) -> bool:
    return any(value in ("*", wanted) for value in values or ())


async def _may(client: Client, namespace: str, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "name": right.name,
        "namespace": right.namespace,
    }
    account = f"system:serviceaccount:{namespace}:{OPERATOR}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    body = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"user": account, "groups": groups, "resourceAttributes": attributes},
    }
    answer = await client.create(_REVIEWS, body)
    return bool(answer.get("status", {}).get("allowed"))
