"""Asks the API server, by a dry run, whether it takes what the roles of a RoleBasedGroup become.

| it answers | the RoleBasedGroup is |
|---|---|
| 422; or the 500 of server-side apply: an unknown field, a wrong type | refused, at the field |
| nothing in time; 403 (RBAC, quota); 404 (kind not served); no dry run | admitted, with a warning |

Objects get another name than the role's workload: one of that name may exist, and what the API
server says of a change of it is not about the template. Only what has changed is asked about, so
scaling asks nothing. Intact has no webhook for these kinds, so no dry run comes back to it.
"""

import asyncio
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from intact.kube.client import Client, PatchType
from intact.kube.errors import ApiError, Invalid, KubeError, PatchError, ServerError
from intact.kube.resources import Resource
from intact.model.field_error import FieldError
from intact.model.rbg import LEADER_WORKER_SET, Role, RoleBasedGroup
from intact.operator.rbg import objects
from intact.operator.rbg.resources import SERVICES, STATEFUL_SETS, WORKLOADS
from intact.operator.rbg.templates import resolved
from intact.rollout.facts import RoleFacts
from intact.rollout.names import workload_name
from intact.rollout.orders import WorkloadOrder
from intact.rollout.revisions import hash_of, template_of
from intact.rollout.spec.role_strategy import strategy_field

Json = dict[str, Any]

WITHIN = 4.0
"""Seconds for all dry runs of a review. The API server waits 10 for the answer."""
_AT_ONCE = 4
_NOT_TYPED = ("failed to create typed patch object", "failed to convert new object")
"""How server-side apply begins its answer to an object of another shape: a 500 without a reason."""
_WHICH_OBJECT = re.compile(r"^[^(]*\([^)]*\)( to proper version)?: ")
_FIELD_AND_MESSAGE = re.compile(r"^\.?((?:[\w./-]|\[[^\]]*\])+): (.*)$", re.DOTALL)
_ENV = re.compile(r"^(\.spec\.(containers|initContainers)\[(\d+)\]\.env)\[(\d+)\]")
_TEMPLATES = (
    "spec.leaderWorkerTemplate.leaderTemplate",
    "spec.leaderWorkerTemplate.workerTemplate",
    "spec.template",
)


@dataclass(frozen=True, slots=True)
class Findings:
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Question:
    resource: Resource[Any]
    body: Json
    role: Role
    """With its template in it."""
    index: int
    by_reference: bool
    which: str = ""


class DryRun:
    def __init__(self, client: Client, within: float = WITHIN) -> None:
        self._client = client
        self._within = within

    async def ask(
        self, namespace: str, group: RoleBasedGroup, old: RoleBasedGroup | None
    ) -> Findings:
        """About the roles that `old` does not have in the same form. Both are valid."""
        group = _in_namespace(group, namespace)
        old = None if old is None else _in_namespace(old, namespace)
        known, unfit = ([], []) if old is None else _questions(old, scaled=False)
        before = {hash_of(each.body) for each in known}
        same, errors = _questions(group, scaled=False)
        new = {(each.index, each.which) for each in same if hash_of(each.body) not in before}
        asked, _ = _questions(group, scaled=True)
        return await self._answers(
            namespace,
            [each for each in asked if (each.index, each.which) in new],
            [each for each in errors if each not in unfit],
        )

    async def _answers(
        self, namespace: str, questions: Sequence[_Question], errors: list[FieldError]
    ) -> Findings:
        warnings: list[str] = []
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def answer(question: _Question) -> None:
            try:
                async with asyncio.timeout_at(deadline), at_once:
                    await self._send(namespace, question)
            except TimeoutError:
                warnings.append(_unknown(question, f"no answer within {self._within:g} s"))
            except ApiError as error:
                found = list(_refusals(question, error))
                errors.extend(found)
                if not found:
                    warnings.append(_unknown(question, str(error)))
            except KubeError as error:
                warnings.append(_unknown(question, str(error)))

        deadline = asyncio.get_running_loop().time() + self._within
        await asyncio.gather(*map(answer, questions))
        errors.sort(key=lambda each: each.path)
        return Findings(list(dict.fromkeys(errors)), sorted(set(warnings)))

    async def _send(self, namespace: str, question: _Question) -> None:
        meta = question.body["metadata"]
        name = f"{meta['name']}-{secrets.token_hex(3)}"
        await self._client.patch(
            question.resource,
            question.body | {"metadata": meta | {"name": name}},
            name,
            namespace,
            type=PatchType.APPLY,
            force=True,
            dry_run=True,
        )


def _questions(group: RoleBasedGroup, *, scaled: bool) -> tuple[list[_Question], list[FieldError]]:
    """What its roles become, and the patches that do not fit. Unless `scaled`, all roles have one
    replica: to compare."""
    found: list[_Question] = []
    errors: list[FieldError] = []
    roles = zip(group.spec.roles, resolved(group).spec.roles, strict=True)
    for index, (given, role) in enumerate(roles):
        asked = partial(
            _Question, role=role, index=index, by_reference=given.template_ref is not None
        )
        replicas = 1 if role.replicas is None or not scaled else role.replicas
        name = workload_name(group.metadata.name, role.name)
        order = WorkloadOrder(name, role, hash_of(template_of(role)), replicas)
        try:
            body = objects.workload(group, order, None, replicas)
        except PatchError as error:
            errors.append(FieldError(f"spec.roles[{index}].leaderWorkerSet", None, str(error)))
            continue
        found.append(asked(WORKLOADS[role.workload.kind], _unowned(body), which="workload"))
        if role.kind == LEADER_WORKER_SET:
            for part, which in (("leaderTemplate", "leaders"), ("workerTemplate", "workers")):
                found.append(asked(STATEFUL_SETS, _stateful_set(body, part), which=which))
        elif role.service_ports:
            facts = RoleFacts(role=role, desired=replicas, revision=order.revision)
            service = _unowned(objects.service(group, facts))
            found.append(asked(SERVICES, service, which="service"))
    return found, errors


def _in_namespace(group: RoleBasedGroup, namespace: str) -> RoleBasedGroup:
    meta = msgspec.structs.replace(group.metadata, namespace=namespace)
    return msgspec.structs.replace(group, metadata=meta)


def _unowned(body: Json) -> Json:
    """The RoleBasedGroup may not have a UID yet."""
    meta = {key: each for key, each in body["metadata"].items() if key != "ownerReferences"}
    return body | {"metadata": meta}


def _stateful_set(sets: Json, part: str) -> Json:
    """As a LeaderWorkerSet makes it of one of its two templates: its own CRD knows less of them."""
    template = sets["spec"]["leaderWorkerTemplate"][part]
    return {
        "apiVersion": STATEFUL_SETS.api_version,
        "kind": STATEFUL_SETS.kind,
        "metadata": {"name": sets["metadata"]["name"]},
        "spec": {
            "serviceName": sets["metadata"]["name"],
            "selector": {"matchLabels": template["metadata"]["labels"]},
            "template": template,
        },
    }


def _unknown(question: _Question, why: str) -> str:
    return (
        f"spec.roles[{question.index}]: the API server could not say whether it takes the "
        f"{question.resource.kind} of this role: {why}"
    )


def _refusals(question: _Question, error: ApiError) -> Iterator[FieldError]:
    """Of the object itself; none if the answer is about anything else."""
    text = str(error)
    if isinstance(error, Invalid):
        found: Iterable[tuple[str, str]] = [(each.field, each.message) for each in error.causes]
        if not found:
            found = [("", text)]
    elif isinstance(error, ServerError) and not error.reason and text.startswith(_NOT_TYPED):
        lines = [line.strip() for line in _WHICH_OBJECT.sub("", text).splitlines()]
        found = [_parted(line) for line in lines if line and line != "errors:"]
    else:
        return
    for at, message in found:
        yield _at_role(question, at, message)


def _parted(line: str) -> tuple[str, str]:
    parts = _FIELD_AND_MESSAGE.match(line)
    return (parts[1], parts[2]) if parts else ("", line)


def _at_role(question: _Question, at: str, message: str) -> FieldError:
    role, path = question.role, f"spec.roles[{question.index}]"
    for prefix in _TEMPLATES:
        if at == prefix or at.startswith((f"{prefix}.", f"{prefix}[")):
            rest = _as_given(question, at.removeprefix(prefix))
            if prefix.endswith("leaderTemplate") or question.which == "leaders":
                message += " (of leaders)" * _is_patched(role)
            elif prefix.endswith("workerTemplate") or question.which == "workers":
                message += " (of workers)" * _is_patched(role)
            if question.by_reference:
                return FieldError(f"{path}.templateRef", None, f"its template{rest}: {message}")
            return FieldError(f"{path}.template{rest}", None, message)
    strategy = f"{path}.{strategy_field(role)}"
    for prefix, ours in {
        "spec.updateStrategy": strategy,
        "spec.strategy": strategy,
        "spec.rolloutStrategy.rollingUpdateConfiguration": f"{strategy}.rollingUpdate",
        "spec.ports": f"{path}.servicePorts",
        "spec.minReadySeconds": f"{path}.minReadySeconds",
        "metadata.labels": f"{path}.labels",
        "metadata.annotations": f"{path}.annotations",
    }.items():
        if at.startswith(prefix):
            return FieldError(ours + at.removeprefix(prefix), None, message)
    if not at:  # a value that cannot be read, somewhere in the template
        return FieldError(f"{path}.template", None, message)
    return FieldError(path, None, f"{question.resource.kind} {at}: {message}")


def _is_patched(role: Role) -> bool:
    sets = role.leader_worker_set
    return bool(sets and (sets.patch_leader_template or sets.patch_worker_template))


def _as_given(question: _Question, rest: str) -> str:
    """With the user's own number of an environment variable: Intact puts its own before them."""
    found = _ENV.match(rest)
    if found is None or question.role.kind == LEADER_WORKER_SET:
        return rest
    kind, container, number = found[2], int(found[3]), int(found[4])
    sent = question.body["spec"]["template"]["spec"][kind][container]["env"]
    given = question.role.template["spec"][kind][container].get("env") or []
    own = number - (len(sent) - len(given))
    return rest if own < 0 else f"{found[1]}[{own}]{rest[found.end() :]}"
