"""Creating and updating: prepare, ask admission, and store unless another write was faster.

An update is tried on the object as it is right now. If the object changes before it is stored,
all steps are done again on the fresh one, admission included; only an update that names a
resourceVersion then fails.
"""

from collections.abc import Callable
from dataclasses import dataclass

from intact.sandbox.api.admission import Operation
from intact.sandbox.api.builtin import NAMESPACES
from intact.sandbox.api.failures import (
    Failure,
    already_exists,
    conflict,
    invalid,
    invalid_object,
    invalid_value,
    not_found,
    storage_conflict,
    unexpected,
)
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.namespaces import check_lifecycle
from intact.sandbox.api.new_pods import first_status
from intact.sandbox.api.objects import Json, copied, drop, generated_name, metadata, typed_first
from intact.sandbox.api.routing import Call
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Stored
from intact.sandbox.api.validation import metadata_errors, own_errors, update_errors
from intact.sandbox.api.writing.endpoints import endpoint
from intact.sandbox.api.writing.fields import Shapes
from intact.sandbox.api.writing.managers import Owner, record_update

Transform = Callable[[Json | None], Json]
"""From the object as its endpoint shows it (None if there is none) to what it shall be."""

_GENERATE_ATTEMPTS = 8
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_ENDURING_FIELDS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(frozen=True, slots=True)
class Written:
    obj: Json
    created: bool = False


def shapes_of(kind: Kind) -> Shapes:
    return Shapes(typed=not kind.custom)


def owner_of(call: Call, operation: str) -> Owner:
    where = call.route
    return Owner(call.manager, operation, where.api_version, where.subresource)


async def create(state: State, call: Call, obj: Json, *, applied: bool = False) -> Written:
    where = call.route
    meta = metadata(obj)
    for name in _SYSTEM_FIELDS:
        meta.pop(name, None)
    if meta.get("resourceVersion"):
        raise unexpected("resourceVersion should not be set on objects to be created")
    if where.kind.default is not None:
        where.kind.default(obj)
    if state.managed_fields and not applied:
        _record(state, call, None, obj)
    await state.pause()
    check_lifecycle(state, call, "CREATE", obj)
    if where.kind.admit_new is not None:
        where.kind.admit_new(state.find, obj)
    options = call.options("CreateOptions")
    mutated = await state.admission.mutate(
        Operation(call, "CREATE", obj, None, options, call.dry_run)
    )
    assert mutated is not None
    generate = metadata(mutated).get("generateName") and not metadata(mutated).get("name")
    attempts_left = _GENERATE_ATTEMPTS if generate else 1
    while True:
        prepared = typed_first(_prepare_new(state, where.kind, copied(mutated)))
        await state.admission.validate(
            Operation(call, "CREATE", prepared, None, options, call.dry_run)
        )
        await state.pause()
        name = prepared["metadata"]["name"]
        key = where.kind.key(where.namespace, name)
        existing = state.store.get(where.kind, key)
        attempts_left -= 1
        if existing is None:
            break
        if not attempts_left:
            terminating = "deletionTimestamp" in existing.obj["metadata"]
            raise already_exists(where.kind, name, terminating=terminating)
    if not call.dry_run:
        state.store.create(where.kind, key, prepared)
    return Written(prepared, created=True)


def _prepare_new(state: State, kind: Kind, obj: Json) -> Json:
    meta = metadata(obj)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generated_name(meta["generateName"], state.rng)
    meta["uid"] = state.new_uid()
    meta["creationTimestamp"] = state.now()
    if kind.status and not kind.keeps_status_on_create:
        obj.pop("status", None)
    if kind.status and not kind.custom:
        obj.setdefault("status", {**kind.zero_status, **kind.initial_status})
    if kind.full_name == "pods":
        obj["status"] = first_status(obj, state.now())
    if kind.generation:
        meta["generation"] = 1
    _finish(kind, obj)
    errors = metadata_errors(kind, obj) + own_errors(kind, obj)
    if errors:
        raise invalid_object(kind, meta.get("name", ""), errors)
    return obj


def _finish(kind: Kind, obj: Json) -> None:
    """The form in which an object is stored."""
    obj["apiVersion"] = kind.api_version()
    for path in kind.unknown:
        drop(obj, path)
    if kind.default is not None:
        kind.default(obj)
    meta = obj["metadata"]
    for name in [name for name, value in meta.items() if not value]:
        if name != "deletionGracePeriodSeconds" or meta[name] is None:
            del meta[name]


def _record(state: State, call: Call, live: Json | None, new: Json) -> None:
    """Records the fields that this write gives to its manager."""
    kind = call.route.kind
    entries = record_update(
        live, new, owner_of(call, "Update"), state.now(), shapes_of(kind), status=kind.status
    )
    metadata(new)["managedFields"] = entries


async def update(
    state: State,
    call: Call,
    transform: Transform,
    *,
    uid: str = "",
    creates: bool = False,
    applied: bool = False,
    admitted: bool = True,
) -> Written:
    """`uid` is a precondition; `creates` a missing object; `applied` has its managers recorded.

    Without `admitted` no hook is called: for the server's own writes.
    """
    where = call.route
    while True:
        current = state.store.get(where.kind, where.key)
        if current is None:
            if not creates:
                raise not_found(where.kind, where.name)
            try:
                return await create(state, call, transform(None), applied=applied)
            except Failure as failure:
                if failure.reason != "AlreadyExists":
                    raise
                continue
        _check_uid(where.kind, where.name, current, uid)
        new = await _attempt(state, call, current, transform, applied=applied, admitted=admitted)
        await state.pause()
        if state.store.get(where.kind, where.key) is not current:
            continue
        shown = endpoint(where.subresource).show
        if _is_last_finalizer_gone(where.kind, new, current.obj):
            if not call.dry_run:
                state.store.remove(where.kind, current)
        elif not call.dry_run and new != current.obj:
            state.store.replace(where.kind, current, new)
        return Written(shown(where.kind, new))


async def _attempt(
    state: State,
    call: Call,
    current: Stored,
    transform: Transform,
    *,
    applied: bool,
    admitted: bool,
) -> Json:
    where = call.route
    kind, point = where.kind, endpoint(where.subresource)
    old = point.show(kind, current.copy())
    sent = transform(copied(old))
    whole = point.absorb(kind, current.obj, sent)
    if kind.default is not None and whole is sent:
        kind.default(whole)
    if state.managed_fields and not applied:
        _record(state, call, current.obj, whole)
    options = call.options("UpdateOptions")
    operation = Operation(call, "UPDATE", sent, old, options, call.dry_run, point.kind)
    if admitted:
        await state.pause()
        check_lifecycle(state, call, "UPDATE")
        mutated = await state.admission.mutate(operation)
        assert mutated is not None
        if mutated is not sent:
            whole = point.absorb(kind, current.obj, mutated)
    _check_version(kind, where.name, current, whole)
    new = _prepare_update(kind, point.prepare(kind, whole, current.obj), current.obj)
    errors = metadata_errors(kind, new) + update_errors(new, current.obj)
    errors += own_errors(kind, new, current.obj)
    if errors:
        raise invalid_object(kind, where.name, errors)
    if admitted:
        shown = point.show(kind, new)
        await state.admission.validate(
            Operation(call, "UPDATE", shown, old, options, call.dry_run, point.kind)
        )
    return new


def _check_uid(kind: Kind, name: str, current: Stored, uid: str) -> None:
    actual = current.obj["metadata"]["uid"]
    if uid and uid != actual:
        raise storage_conflict(kind, name, current.key, "UID", uid, actual)


def _check_version(kind: Kind, name: str, current: Stored, new: Json) -> None:
    version = new["metadata"].get("resourceVersion") or "0"
    if version == "0":
        if not kind.unconditional_update:
            why = invalid_value("metadata.resourceVersion", "0", "must be specified for an update")
            raise invalid(kind.group, kind.plural, name, [why])
    elif not version.isdecimal():
        raise unexpected(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    elif version != str(current.revision):
        raise conflict(kind, name)


def _prepare_update(kind: Kind, new: Json, current: Json) -> Json:
    new["metadata"] = meta = dict(new["metadata"])
    old = current["metadata"]
    meta["resourceVersion"] = old["resourceVersion"]
    meta["uid"] = meta.get("uid") or old["uid"]
    if not kind.generation:
        meta["generation"] = old.get("generation")
    for name in _ENDURING_FIELDS:
        if name in old:
            meta[name] = old[name]
    _finish(kind, new)
    return typed_first(new)


def _is_last_finalizer_gone(kind: Kind, new: Json, old: Json) -> bool:
    meta = old["metadata"]
    return (
        "deletionTimestamp" in meta
        and kind != NAMESPACES  # which go when they are empty
        and not meta.get("deletionGracePeriodSeconds")
        and not new["metadata"].get("finalizers")
    )
