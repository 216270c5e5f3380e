"""Namespaces: no object is created in one that is missing or terminating, and a terminating one is
removed once it is empty."""

from intact.sandbox.api.builtin import NAMESPACES
from intact.sandbox.api.failures import forbidden, not_found
from intact.sandbox.api.objects import Json
from intact.sandbox.api.routing import Call
from intact.sandbox.api.state import State

_IMMORTAL = ("default", "kube-system", "kube-public")


def check_lifecycle(state: State, call: Call, verb: str, obj: Json | None = None) -> None:
    """The NamespaceLifecycle admission plugin, which comes before every hook."""
    where = call.route
    if where.kind == NAMESPACES:
        if verb == "DELETE" and where.name in _IMMORTAL:
            raise forbidden("", "namespaces", where.name, "this namespace may not be deleted")
        return
    if not where.kind.namespaced or verb == "DELETE":
        return
    namespace = state.store.get(NAMESPACES, where.namespace)
    if namespace is None:
        raise not_found(NAMESPACES, where.namespace)
    if verb != "CREATE" or namespace.obj["status"].get("phase") != "Terminating":
        return
    meta = (obj or {}).get("metadata") or {}
    name = where.name or meta.get("name") or meta.get("generateName") or "Unknown"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {where.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    why = (
        f"unable to create new content in namespace {where.namespace} because it is being "
        "terminated"
    )
    raise forbidden(where.kind.group, where.kind.plural, name, why, [cause])


def create_namespace(state: State, name: str) -> None:
    """Create a namespace that is there from the start."""
    obj: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": state.new_uid(),
            "creationTimestamp": state.now(),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    state.store.create(NAMESPACES, name, obj)


def terminate(namespace: Json, now: str) -> None:
    namespace["metadata"]["deletionTimestamp"] = now
    namespace["status"]["phase"] = "Terminating"


def remove_if_empty(state: State, name: str) -> None:
    """What the namespace controller does at the end of a namespace's life."""
    namespace = state.store.get(NAMESPACES, name)
    if namespace is None or not namespace.obj["metadata"].get("deletionTimestamp"):
        return
    if state.store.population(name) or namespace.obj["metadata"].get("finalizers"):
        return
    state.store.remove(NAMESPACES, namespace)
