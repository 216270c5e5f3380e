"""A snapshot's objects, as they were, in a sandbox."""

from collections.abc import Iterable

from intact.budget.pdb.group_settings import WRITTEN
from intact.sandbox.api.kinds import Kind, Scale
from intact.sandbox.api.objects import Json, copied
from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.owned import controller_of
from intact.sandbox.kubelet.annotations import MANAGED_NODE
from intact.sandbox.rehearsal.role_templates import complete
from intact.sandbox.rehearsal.units import PDBS, PUBS
from intact.sandbox.snapshot.document import KindInfo, Snapshot

UNREAD = "unread.invalid/v1"
_REVISED = ("statefulsets.apps", "daemonsets.apps")
"""Kinds whose controllers keep their templates in ControllerRevisions."""


def load(snapshot: Snapshot, api: MemoryApi) -> None:
    """Before any controller runs. Statuses, UIDs and times stay as they are."""
    served = {kind.full_name for kind in api.kinds()}
    for kind in snapshot.kinds:
        if kind.full_name not in served:
            api.register(_kind(kind))
    missing = {each["metadata"].get("namespace") for _kind, each in snapshot.all()} - {None}
    for name in sorted(missing):
        # Those that were not allowed to be read; others come with their labels.
        api.insert("namespaces", _namespace(name))
    uids = {each["metadata"].get("uid") for _kind, each in snapshot.all()}
    for kind, obj in snapshot.all():
        if kind.full_name != "controllerrevisions.apps":
            api.insert(kind.full_name, _prepared(kind, _unread_owners(copied(obj), uids)))
    complete(api)
    present = _present_templates(api)
    newest = _newest(snapshot.of("controllerrevisions.apps"))
    for obj in snapshot.of("controllerrevisions.apps"):
        made = copied(obj)
        template = present.get(_owner(obj))
        if template is not None and newest[_owner(obj)] is obj:
            made["data"] = {"spec": {"template": {**copied(template), "$patch": "replace"}}}
        api.insert("controllerrevisions.apps", made)


def _prepared(kind: KindInfo, obj: Json) -> Json:
    """A node that is ready gets a kubelet, which has seen each pod as it is."""
    if kind.full_name == "nodes" and is_ready(obj):
        key, value = MANAGED_NODE
        obj["metadata"].setdefault("annotations", {})[key] = value
    if kind.full_name == "namespaces":
        obj.setdefault("status", {}).setdefault("phase", "Active")
    if kind.full_name in (PDBS, PUBS):
        _uncounted(obj)
    if kind.full_name == "pods":
        status = obj.setdefault("status", {})
        status["observedGeneration"] = obj["metadata"].get("generation", 1)
    return obj


def _uncounted(budget: Json) -> None:
    """Ledgers name versions of another server: the budget is counted anew before all else."""
    status = budget.setdefault("status", {})
    status["observedGeneration"] = 0
    for name in ("ledger", "disruptedPods"):
        status.pop(name, None)
    for name in WRITTEN:
        (budget["metadata"].get("annotations") or {}).pop(name, None)


def _unread_owners(obj: Json, uids: set[str]) -> Json:
    """An owner that the snapshot does not have may still be there. Under its own kind, the garbage
    collector of the sandbox would find that it is not, and delete what it owns."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner["uid"] not in uids:
            owner["apiVersion"] = UNREAD
    return obj


def _kind(info: KindInfo) -> Kind:
    """As a CustomResourceDefinition would declare it."""
    return Kind(
        info.group,
        info.version,
        info.plural,
        info.kind,
        namespaced=info.namespaced,
        status=True,
        scale=Scale() if info.scaled else None,
    )


def _namespace(name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "uid": f"namespace-{name}"},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _present_templates(api: MemoryApi) -> dict[str, Json]:
    """By UID, the templates of the workloads whose controller has seen them as they are. Their
    newest revision has that template, in the form that the sandbox's controller compares with."""
    return {
        each["metadata"]["uid"]: each["spec"]["template"]
        for full_name in _REVISED
        for each in api.objects(full_name)
        if (each.get("status") or {}).get("observedGeneration")
        == each["metadata"].get("generation")
    }


def _newest(revisions: Iterable[Json]) -> dict[str, Json]:
    """By the UID of their owner."""
    found: dict[str, Json] = {}
    for each in revisions:
        known = found.get(_owner(each))
        if known is None or known.get("revision", 0) < each.get("revision", 0):
            found[_owner(each)] = each
    return found


def _owner(obj: Json) -> str:
    owner = controller_of(obj)
    return owner["uid"] if owner is not None else ""
