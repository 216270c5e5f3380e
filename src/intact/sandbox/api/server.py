"""The API server in memory: from a request to the handler that answers it."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial

from intact.kube.errors import Unreachable
from intact.kube.transport import Request, Response, Stream, Transport
from intact.sandbox.api import definitions
from intact.sandbox.api.admission import Handler, Hook, Rule
from intact.sandbox.api.budget_scope import WITH_BUDGET_SCOPE
from intact.sandbox.api.builtin import DEFAULT_KINDS, NAMESPACES
from intact.sandbox.api.discovery import discover
from intact.sandbox.api.failures import Failure, method_not_allowed
from intact.sandbox.api.kinds import Kind, Registry
from intact.sandbox.api.namespaces import create_namespace, remove_if_empty
from intact.sandbox.api.objects import Json, encode, metadata
from intact.sandbox.api.reads import get, list_body, list_objects
from intact.sandbox.api.removal.delete_options import DeleteOptions, parse_options
from intact.sandbox.api.removal.deletion import delete, delete_collection, deletion_status
from intact.sandbox.api.removal.eviction import evict
from intact.sandbox.api.routing import API_SERVER, Call, Route, User, route
from intact.sandbox.api.selectors import label_selector
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Change, Restored, Snapshot, Store
from intact.sandbox.api.watch import ErrorEvent, Watch
from intact.sandbox.api.writing.binding import bind
from intact.sandbox.api.writing.requests import decode_body, decode_object, patch, replacement
from intact.sandbox.api.writing.writes import Written, create, update
from intact.sandbox.faults import Faults, Moment
from intact.sandbox.loop import wall_clock

Changed = Callable[[Json | None, Json | None], None]
"""Called with the old and the new version of an object, which are not to be changed."""

_POSTED = ("eviction", "binding")
"""Subresources that can only be created."""


class MemoryApi:
    """Implements `Transport`: what a client sends here is answered as kube-apiserver would.

    `clock` is the wall time that objects are stamped with; `seed` decides uids, generated names
    and every fault that is left to chance. With `budget_scope` it is the server of KEP-5682, with
    its feature gate MultiPodPDBs on: PodDisruptionBudgets have `spec.budgetScope`, and PodGroups
    and Workloads are served.
    """

    def __init__(
        self,
        kinds: Iterable[Kind] = DEFAULT_KINDS,
        *,
        clock: Callable[[], datetime] | None = None,
        seed: int = 0,
        managed_fields: bool = True,
        history: int = 20_000,
        budget_scope: bool = False,
    ) -> None:
        rng = random.Random(seed)
        store = Store(history)
        self._state = State(
            Registry((*kinds, *WITH_BUDGET_SCOPE) if budget_scope else tuple(kinds)),
            store,
            clock or wall_clock(),
            rng,
            managed_fields=managed_fields,
        )
        self.faults = Faults(random.Random(rng.getrandbits(64)), store.compact)
        self._user = User()
        for namespace in ("default", "kube-system"):
            create_namespace(self._state, namespace)
        store.after_removal = lambda namespace: remove_if_empty(self._state, namespace)
        if self._state.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions"):
            self.follow(definitions.FULL_NAME, self._definition_changed)

    def _definition_changed(self, old: Json | None, new: Json | None) -> None:
        registry, store = self._state.registry, self._state.store
        if new is not None:
            if old is None or old["spec"] != new["spec"]:
                registry.add(definitions.kind_of(new))
        elif old is not None:
            kind = registry.named(old["metadata"]["name"])
            for stored in list(store.listed(kind)):
                store.remove(kind, stored)
            registry.remove(kind.full_name)

    def serves(self, full_name: str) -> bool:
        plural, _, group = full_name.partition(".")
        return self._state.registry.of_group(group, plural) is not None

    def register(self, kind: Kind) -> None:
        """Serves one more kind, as a CustomResourceDefinition would."""
        self._state.registry.add(kind)

    def admit(
        self,
        name: str,
        handler: Handler,
        rules: Iterable[Rule],
        *,
        mutating: bool = False,
        object_selector: Json | None = None,
        namespace_selector: Json | None = None,
        condition: Callable[[Json], bool] | None = None,
        fail_open: bool = False,
        timeout: float = 10.0,
    ) -> Hook:
        """Registers an admission hook. The selectors are LabelSelectors; `condition` sees the
        AdmissionRequest and stands for matchConditions."""
        hook = Hook(
            name,
            handler,
            tuple(rules),
            mutating,
            label_selector(object_selector) if object_selector is not None else None,
            label_selector(namespace_selector) if namespace_selector is not None else None,
            condition,
            fail_open,
            timeout,
        )
        self._state.admission.add(hook)
        return hook

    def withdraw(self, hook: Hook) -> None:
        self._state.admission.remove(hook)

    def as_user(self, name: str, groups: Sequence[str] = ("system:authenticated",)) -> Transport:
        return _UserTransport(self, User(name, tuple(groups)))

    async def send(self, request: Request) -> Response:
        return await self.send_as(self._user, request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self.stream_as(self._user, request)

    async def close(self) -> None:
        """Nothing to close: the objects stay."""

    def peek(self, full_name: str, namespace: str, name: str) -> Json | None:
        """One object, read past the API and without a step of the loop. Not to be changed."""
        return self._state.find(full_name, namespace, name)

    def objects(self, full_name: str, namespace: str = "") -> Iterator[Json]:
        """All objects of a kind, read past the API. Not to be changed."""
        kind = self._state.registry.named(full_name)
        return (stored.obj for stored in self._state.store.listed(kind, namespace))

    def insert(self, full_name: str, obj: Json) -> None:
        """Store an object as another server had it, with its UID, times and status: past admission
        and validation. It replaces one of the same name. The object is the server's from now on."""
        kind = self._state.registry.named(full_name)
        meta = metadata(obj)
        key = kind.key(meta.get("namespace", ""), meta["name"])
        if kind.default is not None:
            kind.default(obj)
        current = self._state.store.get(kind, key)
        if current is None:
            self._state.store.create(kind, key, obj)
        else:
            self._state.store.replace(kind, current, obj)

    def follow(self, full_name: str, changed: Changed) -> Callable[[], None]:
        """Calls `changed` with each object that is there, as a new one, and with each change from
        now on, past the API and without a step of the loop. Returns what ends it."""
        kind = self._state.registry.named(full_name)
        for stored in list(self._state.store.listed(kind)):
            changed(None, stored.obj)
        return self._state.store.subscribe(kind, _Follower(changed))

    def follow_all(
        self, changed: Callable[[Kind, Json | None, Json | None], None]
    ) -> Callable[[], None]:
        """The same for all kinds, also those that are registered later."""
        for kind in tuple(self._state.registry):
            for stored in list(self._state.store.listed(kind)):
                changed(kind, None, stored.obj)

        def observer(kind: Kind, change: Change) -> None:
            _Follower(partial(changed, kind)).offer(change)

        return self._state.store.observe(observer)

    def kinds(self) -> list[Kind]:
        """All that are served."""
        return list(self._state.registry)

    @property
    def revision(self) -> int:
        """The resourceVersion of the last write."""
        return self._state.store.revision

    @property
    def restores(self) -> int:
        """How often the server was restored from a snapshot: each time, it restarted."""
        return self._state.store.restores

    def snapshot(self) -> Snapshot:
        return self._state.store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot, as after a restore of etcd: watches break, requests under way are
        lost, and resource versions that were seen already are given once more."""
        self._state.store.restore(snapshot)
        self.faults.break_watches()

    async def finish_pod(self, namespace: str, name: str) -> None:
        """Remove a terminating pod, as the kubelet does in the end. No hook is called."""
        pods = self._state.registry.named("pods")
        call = Call(Route(pods, "v1", namespace, name), Request("DELETE", ""), API_SERVER)
        await delete(self._state, call, DeleteOptions(grace=0), admitted=False)

    async def send_as(self, user: User, request: Request) -> Response:
        try:
            with self._state.store.request():
                async with asyncio.timeout(request.timeout):
                    self.faults.strike(request, Moment.BEFORE)
                    await self._state.pause()
                    response = await self._answer(user, request)
                    await self._state.pause()
        except TimeoutError as error:
            raise Unreachable(f"{request.method} {request.path}: no answer in time") from error
        except Restored as error:
            raise Unreachable(f"{request.method} {request.path}: the server restarted") from error
        self.faults.strike(request, Moment.AFTER)
        return response

    @asynccontextmanager
    async def stream_as(self, user: User, request: Request) -> AsyncIterator[Stream]:
        self.faults.strike(request, Moment.BEFORE)
        await self._state.pause()
        if request.query.get("watch") not in ("true", "1"):
            response = await self._answer(user, request)
            yield Stream(response.status, _chunks([response.body]), response.retry_after)
            return
        try:
            call = Call(route(request.path, self._state.registry), request, user)
            watch = Watch(self._state, call, self.faults.delay)
        except Failure as failure:
            yield self._refused_watch(failure)
            return
        forget = self.faults.opened(watch)
        try:
            yield Stream(200, watch)
        finally:
            forget()
            watch.stop()

    def _refused_watch(self, failure: Failure) -> Stream:
        if failure.code in (410, 504) and not self.faults.expired_as_http:
            return Stream(200, ErrorEvent(failure))
        return Stream(failure.code, _chunks([failure.body]), failure.retry_after)

    async def _answer(self, user: User, request: Request) -> Response:
        """The answer of the server, before any fault on its way to the client."""
        if request.method == "GET":
            known = self._about_itself(request.path)
            if known is not None:
                return known
        if request.path == "/apis/authentication.k8s.io/v1/selfsubjectreviews":
            return Response(201, encode({"status": {"userInfo": user.info()}}))
        warnings: list[str] = []
        try:
            call = Call(route(request.path, self._state.registry), request, user, warnings)
            status, body = await self._carry_out(call)
        except Failure as failure:
            return Response(failure.code, failure.body, failure.retry_after, tuple(warnings))
        return Response(status, body, None, tuple(warnings))

    def _about_itself(self, path: str) -> Response | None:
        if path in ("/healthz", "/livez", "/readyz"):
            return Response(200, b"ok")
        found = discover(path, self._state.registry)
        return Response(200, encode(found)) if found is not None else None

    async def _carry_out(self, call: Call) -> tuple[int, bytes]:
        where, method = call.route, call.request.method
        match (method, bool(where.name), where.subresource):
            case ("GET", False, _):
                return 200, list_objects(self._state, call)
            case ("GET", True, sub) if sub not in _POSTED:
                return 200, get(self._state, call)
            case ("POST", True, "eviction"):
                call.check_dry_run("CreateOptions")
                return 201, encode(await evict(self._state, call, decode_body(call)))
            case ("POST", True, "binding"):
                call.check_dry_run("CreateOptions")
                return 201, encode(await bind(self._state, call, decode_body(call)))
            case ("POST", False, _) if where.namespace or not where.kind.namespaced:
                call.check_dry_run("CreateOptions")
                return _written(where, await create(self._state, call, decode_object(call)))
            case ("PUT", True, sub) if sub not in _POSTED:
                return _written(where, await self._put(call))
            case ("PATCH", True, sub) if sub not in _POSTED:
                return _written(where, await self._patch(call))
            case ("DELETE", True, ""):
                deleted = await delete(self._state, call, parse_options(call))
                if deleted.whole:
                    return 200, _encode_as(where, deleted.obj)
                return 200, encode(deletion_status(where.kind, deleted.obj))
            case ("DELETE", False, _) if _is_collection(where):
                return 200, await self._delete_collection(call)
        raise method_not_allowed()

    async def _put(self, call: Call) -> Written:
        call.check_dry_run("UpdateOptions")
        transform, uid = replacement(call)
        where = call.route
        creates = where.kind.create_on_update and not where.subresource
        return await update(self._state, call, transform, uid=uid, creates=creates)

    async def _patch(self, call: Call) -> Written:
        call.check_dry_run("PatchOptions")
        applied = call.request.content_type.startswith("application/apply-patch")
        transform = patch(self._state, call)
        creates = applied and not call.route.subresource
        return await update(self._state, call, transform, creates=creates, applied=applied)

    async def _delete_collection(self, call: Call) -> bytes:
        where = call.route
        deleted = await delete_collection(self._state, call, parse_options(call))
        return list_body(where, {"resourceVersion": str(self._state.store.revision)}, deleted)


class _Follower:
    def __init__(self, changed: Changed) -> None:
        self._changed = changed

    def offer(self, change: Change) -> None:
        old, new = change.old, change.new
        self._changed(old.obj if old is not None else None, new.obj if new is not None else None)


class _UserTransport:
    """The same server, for another user."""

    def __init__(self, api: MemoryApi, user: User) -> None:
        self._api = api
        self._user = user

    async def send(self, request: Request) -> Response:
        return await self._api.send_as(self._user, request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._api.stream_as(self._user, request)

    async def close(self) -> None:
        """Nothing to close: the server is shared."""


def _is_collection(where: Route) -> bool:
    """What one request may delete: the objects of one namespace, not those of all."""
    return bool(where.namespace) if where.kind.namespaced else where.kind != NAMESPACES


def _written(where: Route, written: Written) -> tuple[int, bytes]:
    return 201 if written.created else 200, _encode_as(where, written.obj)


def _encode_as(where: Route, obj: Json) -> bytes:
    if obj["apiVersion"] == where.kind.api_version() != where.api_version:
        obj = {**obj, "apiVersion": where.api_version}
    return encode(obj)


async def _chunks(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
