"""Bytes of the API straight into views: single objects, pages of lists, watch events.

One object that does not fit its view (a field of another type in a vendor's CRD) must not hide all
others. It is logged and counted in `undecodable`. What can be read of it counts, if its resource
says how to salvage it; otherwise it is ignored, as if it were not there.
"""

import logging
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar, cast

import msgspec

from intact.kube.errors import Undecodable, error_of_status
from intact.kube.nesting import read_deep
from intact.kube.resources import Resource
from intact.model.base import View
from intact.model.meta import ListMeta
from intact.model.status import Status

T = TypeVar("T")
log = logging.getLogger(__name__)

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One answer of a list; `continue_token` is empty on the last one."""

    items: list[T]
    resource_version: str
    continue_token: str


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """A change of one object, or a bookmark, which only moves the resource version on.

    `object` is None in a bookmark, and where the object could not be decoded: then the type is
    DELETED and `key` (namespace, name) says what is no longer to be seen.
    """

    type: str
    object: T | None
    resource_version: str
    key: tuple[str, str] = ("", "")


class _Page(View, Generic[T]):
    metadata: ListMeta = ListMeta()
    items: list[T] | None = None  # "items": null is how Go writes an empty list


class _Envelope(View):
    type: str
    object: msgspec.Raw


class _Identity(View):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class _MetaOnly(View):
    metadata: _Identity = _Identity()


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_META_ONLY = msgspec.json.Decoder(_MetaOnly)
_STATUS = msgspec.json.Decoder(Status)
_RAW_PAGE = msgspec.json.Decoder(_Page[msgspec.Raw])


class Decoders(Generic[T]):
    """The decoders for one resource."""

    def __init__(self, resource: Resource[T]) -> None:
        self._resource = resource
        self._one: msgspec.json.Decoder[T] = msgspec.json.Decoder(resource.type)
        self._page = msgspec.json.Decoder(_Page[resource.type])  # type: ignore[name-defined]
        self.undecodable = 0

    def one(self, body: bytes) -> T:
        try:
            return read_deep(self._read_one, body)
        except _UNREADABLE as error:
            raise self._unreadable("an object", body, error) from error

    def page(self, body: bytes) -> Page[T]:
        try:
            return read_deep(self._read_page, body)
        except _UNREADABLE as error:
            raise self._unreadable("a list", body, error) from error

    def event(self, line: bytes) -> WatchEvent[T]:
        """Raises the error that an ERROR event carries."""
        try:
            return read_deep(self._read_event, line)
        except _UNREADABLE as error:
            raise self._unreadable("a watch event", line, error) from error

    def _read_one(self, body: bytes) -> T:
        try:
            return self._one.decode(body)
        except msgspec.ValidationError as error:
            if self._resource.salvage is None:
                raise
            return self._salvaged(body, error)

    def _read_page(self, body: bytes) -> Page[T]:
        try:
            page = cast("_Page[T]", self._page.decode(body))
            items = page.items or []
            meta = page.metadata
        except msgspec.ValidationError:
            raw = _RAW_PAGE.decode(body)
            meta = raw.metadata
            decoded = [self._tolerant(item) for item in raw.items or []]
            items = [item for item in decoded if item is not None]
        return Page(items, meta.resource_version, meta.continue_)

    def _read_event(self, line: bytes) -> WatchEvent[T]:
        envelope = _ENVELOPE.decode(line)
        if envelope.type == ERROR:
            raise error_of_status(_STATUS.decode(envelope.object))
        if envelope.type == BOOKMARK:
            return WatchEvent(BOOKMARK, None, _meta(envelope.object).resource_version)
        found = self._tolerant(envelope.object)
        if found is None:
            meta = _meta(envelope.object)
            return WatchEvent(DELETED, None, meta.resource_version, (meta.namespace, meta.name))
        return WatchEvent(envelope.type, found, _version_of(found))

    def _tolerant(self, raw: msgspec.Raw) -> T | None:
        try:
            return self._one.decode(raw)
        except msgspec.ValidationError as error:
            if self._resource.salvage is not None:
                return self._salvaged(bytes(raw), error)
            self._log(raw, "is ignored", error)
            return None

    def _salvaged(self, body: bytes, error: msgspec.ValidationError) -> T:
        assert self._resource.salvage is not None
        self._log(msgspec.Raw(body), "is read as far as possible", error)
        return self._resource.salvage(body)

    def _log(self, raw: msgspec.Raw, what: str, error: msgspec.ValidationError) -> None:
        self.undecodable += 1
        meta = _meta(raw)
        log.warning(
            "%s %s/%s does not have the expected shape and %s: %s",
            self._resource.full_name,
            meta.namespace,
            meta.name,
            what,
            error,
        )

    def _unreadable(self, what: str, body: bytes, error: Exception) -> Undecodable:
        start = body[:80].decode("utf-8", "replace")
        return Undecodable(f"{self._resource.full_name}: not {what}: {error}; it begins {start!r}")


def _meta(raw: msgspec.Raw) -> _Identity:
    return _META_ONLY.decode(raw).metadata


def _version_of(found: Any) -> str:
    if isinstance(found, dict):
        return str(found["metadata"]["resourceVersion"])
    return str(found.metadata.resource_version)


@cache
def _decoders(resource: Resource[Any]) -> Decoders[Any]:
    return Decoders(resource)


def decoders(resource: Resource[T]) -> Decoders[T]:
    """The decoders of a resource, made once."""
    return _decoders(resource)
