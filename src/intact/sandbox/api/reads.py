"""GET of one object, and of lists: consistent pages, selectors, older and newer versions."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from intact.sandbox.api.failures import (
    bad_request,
    expired,
    forbidden_value,
    invalid_options,
    not_found,
    too_large_resource_version,
    unexpected,
)
from intact.sandbox.api.objects import Json, decode, encode
from intact.sandbox.api.routing import Call, Route
from intact.sandbox.api.selectors import Selection, selection
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Stored
from intact.sandbox.api.writing.endpoints import endpoint

_LIST_EXPIRED = "The resourceVersion for the provided list is too old."
_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
_LATEST = -1
"""In a continue token: from the present, the history being gone."""


def body_of(route: Route, stored: Stored) -> bytes:
    """The stored object in the version that the path asks for."""
    if route.version == route.kind.version:
        return stored.body
    return encode({**stored.obj, "apiVersion": route.api_version})


def get(state: State, call: Call) -> bytes:
    where = call.route
    check_not_from_the_future(state, call.query)
    stored = state.store.get(where.kind, where.key)
    if stored is None:
        raise not_found(where.kind, where.name)
    if where.subresource == "scale":
        return encode(endpoint("scale").show(where.kind, stored.obj))
    return body_of(where, stored)


def revision_of(query: Mapping[str, str]) -> int:
    """The resourceVersion of a query; 0 if it has none."""
    text = query.get("resourceVersion") or "0"
    if text.isdecimal():
        return int(text)
    why = (
        f'resourceVersion: Invalid value: "{text}": '
        f'strconv.ParseUint: parsing "{text}": invalid syntax'
    )
    if query.get("watch"):
        raise unexpected(why)
    raise bad_request(f"invalid resource version: {why}")


def check_not_from_the_future(state: State, query: Mapping[str, str]) -> None:
    asked = revision_of(query)
    if asked > state.store.revision:
        raise too_large_resource_version(asked, state.store.revision)


def list_objects(state: State, call: Call) -> bytes:
    where, query = call.route, call.query
    check_version_match(query)
    chosen = selection(where.kind, query)
    limit = call.number("limit") or 0
    revision, after = state.store.revision, ""
    if query.get("continue"):
        revision, after = _read_continue(query["continue"])
        found = _at_continue(state, where, revision, after)
        revision = state.store.revision if revision == _LATEST else revision
    elif _is_exact(query, limit):
        revision = revision_of(query)
        check_not_from_the_future(state, query)
        if revision < state.store.compacted:
            raise expired(_LIST_EXPIRED)
        found = state.store.list_at(where.kind, revision, where.namespace)
    else:
        check_not_from_the_future(state, query)
        found = list(state.store.listed(where.kind, where.namespace))
    return _page(where, found, chosen, limit, revision)


def check_version_match(query: Mapping[str, str]) -> None:
    match = query.get("resourceVersionMatch")
    if not match:
        return
    why = ""
    if query.get("watch") in ("true", "1"):
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    elif not query.get("resourceVersion"):
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match == "Exact" and query["resourceVersion"] == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    if why:
        raise invalid_options("ListOptions", [forbidden_value("resourceVersionMatch", why)])


def _is_exact(query: Mapping[str, str], limit: int) -> bool:
    match = query.get("resourceVersionMatch")
    if match == "Exact":
        return True
    return match is None and limit > 0 and revision_of(query) > 0


def _page(
    where: Route, found: Iterable[Stored], chosen: Selection, limit: int, revision: int
) -> bytes:
    page: list[Stored] = []
    meta: dict[str, Any] = {"resourceVersion": str(revision)}
    remaining = iter(found)
    last = ""
    for stored in remaining:
        if not chosen.holds(stored.obj):
            continue
        if limit and len(page) == limit:
            meta["continue"] = _write_continue(revision, last)
            if chosen.everything:
                meta["remainingItemCount"] = 1 + sum(1 for _ in remaining)
            break
        page.append(stored)
        last = stored.key
    return list_body(where, meta, page)


def list_body(where: Route, meta: Json, page: Iterable[Stored]) -> bytes:
    head: Json = {"kind": where.kind.list_kind, "apiVersion": where.api_version, "metadata": meta}
    items = b",".join(_item(where, stored) for stored in page)
    return encode(head)[:-1] + b',"items":[' + items + b"]}"


def _item(where: Route, stored: Stored) -> bytes:
    """Built-in kinds omit from each item what the list says for all of them."""
    body = body_of(where, stored)
    if where.kind.custom:
        return body
    said = encode({"apiVersion": where.api_version, "kind": where.kind.kind})[:-1] + b","
    return b"{" + body.removeprefix(said) if body.startswith(said) else body


def _write_continue(revision: int, after: str) -> str:
    token: Json = {"v": "meta.k8s.io/v1", "rv": revision, "start": after + "\0"}
    return base64.urlsafe_b64encode(encode(token)).decode().rstrip("=")


def _read_continue(text: str) -> tuple[int, str]:
    try:
        token = decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return token["rv"], token["start"].removesuffix("\0")
    except (ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error


def _at_continue(state: State, where: Route, revision: int, after: str) -> list[Stored]:
    if revision == _LATEST:
        found = list(state.store.listed(where.kind, where.namespace))
    elif revision < state.store.oldest(where.kind):
        raise expired(_CONTINUE_EXPIRED, continue_token=_write_continue(_LATEST, after))
    else:
        found = state.store.list_at(where.kind, revision, where.namespace)
    return [stored for stored in found if stored.key > after]
