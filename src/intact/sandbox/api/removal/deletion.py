"""Deleting: at once, gracefully, or not before the last finalizer is gone.

The order of steps is that of kube-apiserver's generic registry, which also asks admission twice
where it writes twice.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from intact.model.times import parse_time, timestamp
from intact.sandbox.api.admission import Operation
from intact.sandbox.api.builtin import NAMESPACES
from intact.sandbox.api.failures import Failure, not_found, storage_conflict
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.namespaces import check_lifecycle, remove_if_empty, terminate
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished
from intact.sandbox.api.removal.delete_options import (
    FOREGROUND,
    ORPHAN,
    POLICIES,
    DeleteOptions,
    check_preconditions,
)
from intact.sandbox.api.routing import Call, Route
from intact.sandbox.api.selectors import selection
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Stored


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a DELETE answers with."""

    obj: Json
    whole: bool
    """The object itself rather than a Status about it."""


async def delete(
    state: State, call: Call, options: DeleteOptions, *, admitted: bool = True
) -> Deleted:
    """Without `admitted` no hook is called: for the server's own deletions."""
    where = call.route
    current = state.store.get(where.kind, where.key)
    if current is None:
        raise not_found(where.kind, where.name)
    if where.kind == NAMESPACES:
        return await _delete_namespace(state, call, options)
    marked = _mark(state, where.kind, current.copy(), options)
    if marked.pending:
        return _answer(where.kind, current)
    if marked.graceful or marked.finalizers_matter:
        kept = await _mark_stored(state, call, options, admitted=admitted)
        if kept.answer is not None:
            return kept.answer
        if options.resource_version:
            options = options.at_version(kept.resource_version)
        if options.dry_run:
            return Deleted(kept.obj, whole=where.kind.returns_deleted)
        gone = kept.obj if marked.graceful else None
        return await _remove(state, call, options, admitted=admitted, gone_is_fine=gone)
    return await _remove(state, call, options, admitted=admitted)


@dataclass(frozen=True, slots=True)
class _Marked:
    """An object as a deletion would leave it."""

    obj: Json
    graceful: bool = False
    pending: bool = False
    """It is on its way out already, and no later than asked for."""
    grace: int = 0
    finalizers_matter: bool = False


def _mark(state: State, kind: Kind, obj: Json, options: DeleteOptions) -> _Marked:
    check_preconditions(kind, obj, options)
    grace = 1 if options.grace is not None and options.grace < 0 else options.grace
    marked = _mark_graceful(state, obj, grace) if kind.graceful else _Marked(obj)
    if marked.pending:
        return marked
    meta = obj["metadata"]
    before = list(meta.get("finalizers") or ())
    after = _finalizers(kind, before, options)
    if sorted(before) != sorted(after):
        meta["finalizers"] = after
    return replace(marked, finalizers_matter=bool(before or after))


def _mark_graceful(state: State, pod: Json, grace: int | None) -> _Marked:
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        return _shorten_grace(state, pod, grace)
    period = grace
    if period is None:
        period = pod.get("spec", {}).get("terminationGracePeriodSeconds") or 0
    unscheduled = not pod.get("spec", {}).get("nodeName")
    if unscheduled or is_finished(pod):
        period = 0
    meta["deletionTimestamp"] = timestamp(state.clock() + timedelta(seconds=period))
    meta["deletionGracePeriodSeconds"] = period
    _count_deletion(meta)
    return _Marked(pod, graceful=True, grace=period)


def _shorten_grace(state: State, pod: Json, grace: int | None) -> _Marked:
    meta = pod["metadata"]
    running = meta.get("deletionGracePeriodSeconds") or 0
    if not running:
        return _Marked(pod)
    if grace is None or grace >= running:
        return _Marked(pod, pending=True)
    now = state.clock().replace(microsecond=0)
    asked = parse_time(meta["deletionTimestamp"]) - timedelta(seconds=running - grace)
    meta["deletionTimestamp"] = timestamp(max(asked, now))
    # The kubelet has yet to see it and end the pod: a grace that has run out becomes a second.
    meta["deletionGracePeriodSeconds"] = 1 if asked < now and grace else grace
    return _Marked(pod, graceful=True, grace=grace)


def _count_deletion(meta: Json) -> None:
    if meta.get("generation"):
        meta["generation"] += 1


def _finalizers(kind: Kind, present: list[str], options: DeleteOptions) -> list[str]:
    """With the garbage collector's finalizer that the options ask for, or the object has."""
    if not kind.garbage_collected:
        return present
    if options.orphan_dependents is not None:
        wanted = ORPHAN if options.orphan_dependents else ""
    elif options.propagation is not None:
        wanted = POLICIES[options.propagation]
    else:
        wanted = next((name for name in present if name in (ORPHAN, FOREGROUND)), "")
    others = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    return [*others, wanted] if wanted else others


@dataclass(frozen=True, slots=True)
class _Kept:
    obj: Json
    answer: Deleted | None = None
    """Set if the object stays for now."""
    resource_version: str = ""


async def _mark_stored(
    state: State, call: Call, options: DeleteOptions, *, admitted: bool
) -> _Kept:
    """Marks the object as deleted, for the owners of its finalizers or the kubelet to see."""
    kind = call.route.kind
    while True:
        current = await _admit(state, call, options, admitted=admitted)
        marked = _mark(state, kind, current.copy(), options)
        if marked.pending:
            return _Kept(current.obj, _answer(kind, current))
        obj = marked.obj
        finalizers = obj["metadata"].get("finalizers")
        if not marked.graceful:
            if not finalizers:
                return _Kept(obj, None, str(current.revision))
            _mark_finalizing(state, obj)
        await state.pause()
        if state.store.get(kind, current.key) is not current:
            continue
        if not options.dry_run and obj != current.obj:
            obj = state.store.replace(kind, current, obj).obj
        stays = bool(finalizers) or marked.grace > 0
        return _Kept(
            obj, Deleted(obj, whole=True) if stays else None, obj["metadata"]["resourceVersion"]
        )


def _mark_finalizing(state: State, obj: Json) -> None:
    meta, now = obj["metadata"], state.now()
    if "deletionTimestamp" not in meta:
        _count_deletion(meta)
    meta["deletionTimestamp"] = min(meta.get("deletionTimestamp", now), now)
    meta["deletionGracePeriodSeconds"] = 0


async def _remove(
    state: State,
    call: Call,
    options: DeleteOptions,
    *,
    admitted: bool,
    gone_is_fine: Json | None = None,
) -> Deleted:
    kind = call.route.kind
    while True:
        try:
            current = await _admit(state, call, options, admitted=admitted)
        except Failure as failure:
            if failure.code == 404 and gone_is_fine is not None:
                return Deleted(gone_is_fine, whole=kind.returns_deleted)
            raise
        await state.pause()
        if state.store.get(kind, current.key) is not current:
            continue
        if options.dry_run:
            return _answer(kind, current)
        return _answer(kind, state.store.remove(kind, current))


async def _admit(state: State, call: Call, options: DeleteOptions, *, admitted: bool) -> Stored:
    """The object as it is now, if its deletion is allowed."""
    where = call.route
    current = state.store.get(where.kind, where.key)
    if current is None:
        raise not_found(where.kind, where.name)
    _check_storage_preconditions(where, current, options)
    if admitted:
        await state.pause()
        check_lifecycle(state, call, "DELETE")
        old, sent = current.copy(), options.sent or {}
        operation = Operation(call, "DELETE", None, old, sent, options.dry_run)
        await state.admission.mutate(operation)
        await state.admission.validate(operation)
    return current


def _check_storage_preconditions(where: Route, current: Stored, options: DeleteOptions) -> None:
    """The same preconditions, as the storage checks and words them after a race."""
    for field, wanted, actual in (
        ("UID", options.uid, current.obj["metadata"]["uid"]),
        ("ResourceVersion", options.resource_version, str(current.revision)),
    ):
        if wanted and wanted != actual:
            raise storage_conflict(where.kind, where.name, current.key, field, wanted, actual)


async def _delete_namespace(state: State, call: Call, options: DeleteOptions) -> Deleted:
    """A namespace turns Terminating, and goes once it is empty."""
    name = call.route.name
    while True:
        current = await _admit(state, call, options, admitted=True)
        obj = current.copy()
        if "deletionTimestamp" in obj["metadata"]:
            return Deleted(obj, whole=True)
        terminate(obj, state.now())
        await state.pause()
        if state.store.get(NAMESPACES, name) is not current:
            continue
        if not options.dry_run:
            obj = state.store.replace(NAMESPACES, current, obj).obj
            remove_if_empty(state, name)
        return Deleted(obj, whole=True)


def _answer(kind: Kind, stored: Stored) -> Deleted:
    return Deleted(stored.obj, whole=kind.returns_deleted)


def deletion_status(kind: Kind, obj: Json) -> Json:
    details: dict[str, Any] = {"name": obj["metadata"]["name"], "kind": kind.plural}
    if kind.group:
        details["group"] = kind.group
    details["uid"] = obj["metadata"]["uid"]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


async def delete_collection(state: State, call: Call, options: DeleteOptions) -> list[Stored]:
    """Each object by itself: the whole is not atomic, and the first failure ends it."""
    where = call.route
    chosen = selection(where.kind, call.query)
    found = [
        stored
        for stored in state.store.listed(where.kind, where.namespace)
        if chosen.holds(stored.obj)
    ]
    for stored in found:
        meta = stored.obj["metadata"]
        one = replace(where, namespace=meta.get("namespace", ""), name=meta["name"])
        try:
            await delete(state, replace(call, route=one, in_collection=True), options)
        except Failure as failure:
            if failure.code != 404:
                raise
    return found
