"""From a request's path to the kind, the object and the subresource that it means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from intact.kube.transport import Request
from intact.sandbox.api.failures import (
    NoSuchPage,
    bad_request,
    invalid_options,
    no_such_resource,
    unsupported_value,
)
from intact.sandbox.api.kinds import Kind, Registry
from intact.sandbox.api.objects import Json

DEFAULT_MANAGER = "intact"
"""What kube-apiserver would take from the User-Agent header."""


@dataclass(frozen=True, slots=True)
class User:
    """The user who sends a request. Admission hooks see it as `userInfo`."""

    name: str = "kubernetes-admin"
    groups: tuple[str, ...] = ("kubeadm:cluster-admins", "system:authenticated")

    def info(self) -> Json:
        return {"username": self.name, "groups": list(self.groups)}


API_SERVER = User("system:apiserver", ("system:authenticated", "system:masters"))


@dataclass(frozen=True, slots=True)
class Route:
    kind: Kind
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> str:
        return self.kind.key(self.namespace, self.name)

    @property
    def api_version(self) -> str:
        return self.kind.api_version(self.version)


@dataclass(slots=True)
class Call:
    """One request under way."""

    route: Route
    request: Request
    user: User
    warnings: list[str] = field(default_factory=list)
    in_collection: bool = False
    """One of many deletions by one request, which does not name them."""

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def dry_run(self) -> bool:
        return bool(self.query.get("dryRun"))

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or DEFAULT_MANAGER

    def number(self, name: str) -> int | None:
        """An integer of the query."""
        text = self.query.get(name)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            why = f'strconv.ParseInt: parsing "{text}": invalid syntax'
            raise bad_request(why) from None

    def options(self, kind: str) -> Json:
        """The options as admission sees them."""
        found: Json = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            found["dryRun"] = [self.query["dryRun"]]
        for name in ("fieldManager", "fieldValidation"):
            if self.query.get(name):
                found[name] = self.query[name]
        return found

    def check_dry_run(self, options: str) -> None:
        asked = self.query.get("dryRun", "")
        if asked not in ("", "All"):
            raise invalid_options(options, [unsupported_value("dryRun", f'["{asked}"]', ("All",))])


def route(path: str, registry: Registry) -> Route:
    """Raises 404 for a path at which no kind is served."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest] if registry.serves(group):
            pass
        case _:
            raise NoSuchPage
    found = _route(registry, group, version, rest)
    if found is None or (found.subresource and found.subresource not in found.kind.subresources):
        raise no_such_resource()
    return found


def _route(registry: Registry, group: str, version: str, rest: list[str]) -> Route | None:
    match rest:
        case ["namespaces", namespace, plural, *more] if plural != "status":
            kind = registry.find(group, version, plural)
            if kind is None or not kind.namespaced or len(more) > 2:
                return None
            name, subresource = (*more, "", "")[:2]
            return Route(kind, version, namespace, name, subresource)
        case [plural, *more] if len(more) <= 2:
            kind = registry.find(group, version, plural)
            if kind is None or (kind.namespaced and more):
                return None
            name, subresource = (*more, "", "")[:2]
            return Route(kind, version, "", name, subresource)
    return None
