"""Admission hooks: what webhooks are to a real server, called in process.

A hook is the same coroutine that a webhook server would call: it takes the `request` of an
AdmissionReview and returns its `response`. Mutating hooks run first, one after another in the
order of their names, each on the object that the one before returned; validating hooks run after
that, all at once.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from intact.kube.errors import PatchError
from intact.sandbox.api.failures import Failure, bad_request, internal_error
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, copied, decode, encode
from intact.sandbox.api.routing import Call
from intact.sandbox.api.selectors import LabelTest
from intact.sandbox.api.writing.patches import json_patch

Handler = Callable[[Json], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a hook is called for. `*` stands for all; resources may name subresources."""

    resources: tuple[str, ...]
    operations: tuple[str, ...] = ("*",)
    groups: tuple[str, ...] = ("*",)
    versions: tuple[str, ...] = ("*",)

    def covers(self, call: Call, operation: str) -> bool:
        where = call.route
        return (
            _listed(operation, self.operations)
            and _listed(where.kind.group, self.groups)
            and _listed(where.version, self.versions)
            and any(
                _covers_resource(resource, where.kind.plural, where.subresource)
                for resource in self.resources
            )
        )


def _listed(value: str, listed: tuple[str, ...]) -> bool:
    return "*" in listed or value in listed


def _covers_resource(pattern: str, plural: str, subresource: str) -> bool:
    resource, slash, sub = pattern.partition("/")
    if resource not in ("*", plural):
        return False
    if not slash:
        return not subresource
    return sub in ("*", subresource)


@dataclass(frozen=True, slots=True)
class Hook:
    name: str
    handler: Handler
    rules: tuple[Rule, ...]
    mutating: bool
    object_selector: LabelTest | None
    namespace_selector: LabelTest | None
    condition: Callable[[Json], bool] | None
    fail_open: bool
    timeout: float


@dataclass(frozen=True, slots=True)
class Operation:
    """What is about to happen, as hooks are asked about it."""

    call: Call
    verb: str
    obj: Json | None
    old: Json | None
    options: Json
    dry_run: bool
    kind: tuple[str, str, str] | None = None
    """Group, version and kind, where a subresource has its own."""

    def review(self, uid: str, obj: Json | None) -> Json:
        where = self.call.route
        group, version, kind = self.kind or (where.kind.group, where.version, where.kind.kind)
        gvk = {"group": group, "version": version, "kind": kind}
        gvr = {
            "group": where.kind.group,
            "version": where.version,
            "resource": where.kind.plural,
        }
        name = where.name or ((obj or {}).get("metadata") or {}).get("name", "")
        name = "" if self.call.in_collection else name
        found: Json = {
            "uid": uid,
            "kind": gvk,
            "resource": gvr,
            "requestKind": gvk,
            "requestResource": gvr,
            "operation": self.verb,
            "userInfo": self.call.user.info(),
            "object": obj,
            "oldObject": self.old,
            "dryRun": self.dry_run,
            "options": self.options,
        }
        namespace = name if where.kind.full_name == "namespaces" else where.namespace
        if where.subresource:
            found["subResource"] = found["requestSubResource"] = where.subresource
        if name:
            found["name"] = name
        if namespace:
            found["namespace"] = namespace
        return found


class Admission:
    def __init__(
        self,
        new_uid: Callable[[], str],
        namespace_labels: Callable[[str], Mapping[str, str] | None],
    ) -> None:
        self._new_uid = new_uid
        self._namespace_labels = namespace_labels
        self._hooks: list[Hook] = []
        self._by_call: dict[tuple[Kind, str, str, str], list[Hook]] = {}
        """Those whose rules cover a kind, version, subresource and operation."""

    def add(self, hook: Hook) -> None:
        self._hooks.append(hook)
        self._hooks.sort(key=lambda each: each.name)
        self._by_call.clear()

    def remove(self, hook: Hook) -> None:
        self._hooks.remove(hook)
        self._by_call.clear()

    def _covering(self, operation: Operation) -> list[Hook]:
        where = operation.call.route
        key = where.kind, where.version, where.subresource, operation.verb
        found = self._by_call.get(key)
        if found is None:
            found = self._by_call[key] = [
                hook
                for hook in self._hooks
                if any(rule.covers(operation.call, operation.verb) for rule in hook.rules)
            ]
        return found

    async def mutate(self, operation: Operation) -> Json | None:
        """The object as the mutating hooks leave it."""
        obj = operation.obj
        for hook in self._covering(operation):
            if hook.mutating and self._concerns(hook, operation, obj):
                response = await self._ask(hook, operation, obj)
                if response is not None:
                    obj = _patched(hook, obj, response)
        return obj

    async def validate(self, operation: Operation) -> None:
        hooks = [
            hook
            for hook in self._covering(operation)
            if not hook.mutating and self._concerns(hook, operation, operation.obj)
        ]
        if len(hooks) == 1:
            await self._ask(hooks[0], operation, operation.obj)
        elif hooks:
            asked = [self._ask(hook, operation, operation.obj) for hook in hooks]
            for answer in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(answer, BaseException):
                    raise answer

    def _concerns(self, hook: Hook, operation: Operation, obj: Json | None) -> bool:
        if hook.object_selector is not None:
            seen = [
                (each.get("metadata") or {}).get("labels") or {}
                for each in (obj, operation.old)
                if each is not None
            ]
            if not any(hook.object_selector(labels) for labels in seen):
                return False
        if hook.namespace_selector is not None:
            labels = self._labels_of_namespace(operation, obj)
            if labels is not None and not hook.namespace_selector(labels):
                return False
        return True

    def _labels_of_namespace(self, operation: Operation, obj: Json | None) -> Any:
        where = operation.call.route
        if where.kind.full_name == "namespaces":
            return ((obj or operation.old or {}).get("metadata") or {}).get("labels") or {}
        return self._namespace_labels(where.namespace) if where.namespace else None

    async def _ask(self, hook: Hook, operation: Operation, obj: Json | None) -> Json | None:
        """The hook's response if it allows. None if it was not called, or failed open."""
        review = copied(operation.review(self._new_uid(), obj))
        if hook.condition is not None and not hook.condition(review):
            return None
        try:
            async with asyncio.timeout(hook.timeout):
                response = copied(await hook.handler(review))
        except Exception as error:
            if hook.fail_open:
                return None
            why = "context deadline exceeded" if isinstance(error, TimeoutError) else error
            raise internal_error(
                f'failed calling webhook "{hook.name}": failed to call webhook: {why}'
            ) from error
        operation.call.warnings += response.get("warnings") or ()
        if not response.get("allowed"):
            raise denial(hook.name, response.get("status"))
        return response


def denial(name: str, status: Json | None) -> Failure:
    """A hook's refusal as the client sees it."""
    status = dict(status or {})
    denied = f'admission webhook "{name}" denied the request'
    why = status.get("message") or status.get("reason")
    status["message"] = f"{denied}: {why}" if why else f"{denied} without explanation"
    status["code"] = max(400, status.get("code") or 0)
    if status.get("status") in (None, "", "Success"):
        status["status"] = "Failure"
    return Failure({**status, "kind": "Status", "apiVersion": "v1", "metadata": {}})


def _patched(hook: Hook, obj: Json | None, response: Json) -> Json | None:
    patch = response.get("patch")
    if not patch:
        return obj
    if response.get("patchType") != "JSONPatch":
        raise internal_error(
            f'failed calling webhook "{hook.name}": received invalid webhook response: '
            "webhook returned response.patch but not response.patchType"
        )
    if obj is None:
        raise internal_error(
            f'admission webhook "{hook.name}" attempted to modify the object, '
            "which is not supported for this operation"
        )
    try:
        operations = decode(base64.b64decode(patch))
        result = json_patch(decode(encode(obj)), operations)
    except (PatchError, ValueError) as error:
        raise internal_error(str(error)) from error
    if not isinstance(result, dict):
        raise bad_request("the patch left no object")
    return result
