"""The gate: may this pod go, or change, now?

The API server asks it only about gated namespaces (see `webhook.registration`). A denial is 429
with the cause `DisruptionBudget`, like the Eviction API's own: `kubectl drain` waits and tries
again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from intact.budget.pub import in_place
from intact.budget.pub.availability import is_available, is_exempt
from intact.budget.pub.decision import Decision, Subject
from intact.budget.pub.ledger import Operation
from intact.budget.pub.settings import Enforcement, PubSettings
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.events import reference_to
from intact.kube.resources import PODS, PUBS
from intact.kube.store import Store
from intact.model.admission import AdmissionRequest, AdmissionResponse, read_request
from intact.model.namespace import Namespace
from intact.model.pod import Pod, ResizablePod
from intact.model.pod_state import is_gone, is_terminating
from intact.model.pub import ContainerMark
from intact.operator.pub.commits import Commits
from intact.operator.pub.index import PubEntry, PubIndex
from intact.operator.pub.status import settings_now
from intact.operator.watch.owners import Chain, Workloads
from intact.operator.webhook import probe
from intact.operator.webhook.denials import Denial, Denials
from intact.operator.webhook.responses import ALLOWED, PROBED, denied

_TRUSTED = 1.0
"""Seconds for which a name is sure to stand for the pod that was read, or for one that is not
ready. The API server evicts by name alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for, as the gate sees it."""

    operation: Operation
    pod: Pod
    dry_run: bool
    user: str
    containers: dict[str, ContainerMark] | None = None
    resize: bool = False

    @property
    def protected_as(self) -> frozenset[str]:
        """The operations, any of which makes a budget protect the pod from this request."""
        names = {self.operation.value}
        return frozenset(names | {"RESIZE"} if self.resize else names)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request asks of one budget."""

    entry: PubEntry
    subject: Subject
    mode: Enforcement


Observe = Callable[[Asked, PubEntry, Decision, Enforcement], None]
"""Called with each decision of each budget."""


def ignore(_asked: Asked, _entry: PubEntry, _decision: Decision, _mode: Enforcement) -> None:
    """Observes nothing."""


class Gate:
    def __init__(
        self,
        client: Client,
        index: PubIndex,
        workloads: Workloads,
        namespaces: Store[Namespace],
        commits: Commits,
        denials: Denials,
        observe: Observe = ignore,
    ) -> None:
        self._client = client
        self._index = index
        self._workloads = workloads
        self._namespaces = namespaces
        self._commits = commits
        self._denials = denials
        self._observe = observe

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        if request.sub_resource == "eviction" and request.name == probe.NAME:
            return PROBED
        begun = _monotonic()
        try:
            answer = await self._judge(request)
        except _JustChanged as error:
            return denied(str(error))
        except KubeError as error:
            return denied(f"Intact cannot read what it needs to decide this: {error}")
        if (
            request.sub_resource == "eviction"
            and answer.allowed
            and _monotonic() > begun + _TRUSTED
        ):
            return denied(_too_late(request.name))
        return answer

    async def _judge(self, request: AdmissionRequest) -> AdmissionResponse:
        asked = await self._understand(request)
        if asked is None or is_exempt(asked.pod):
            return ALLOWED
        if self._is_ending(request.namespace):
            return ALLOWED
        return await self._answer(asked)

    async def _understand(self, request: AdmissionRequest) -> Asked | None:
        """What is asked for, or None if it cannot make a pod unavailable."""
        user = request.user_info.username
        if request.sub_resource == "eviction":
            options = _EVICTION.decode(request.object).delete_options
            dry_run = request.dry_run or bool(options and options.dry_run)
            pod = await self._find(request.namespace, request.name)
            return Asked(Operation.EVICT, pod, dry_run, user) if pod else None
        old = _POD.decode(request.old_object)
        if request.operation == "DELETE":
            return Asked(Operation.DELETE, old, request.dry_run, user)
        new = _POD.decode(request.object)
        asked = Asked(Operation.UPDATE, old, request.dry_run, user)
        if request.sub_resource == "resize":
            resized = in_place.restarting_resizes(
                _RESIZED.decode(request.old_object), _RESIZED.decode(request.object)
            )
            marks = in_place.mark_containers(old, resized)
            return replace(asked, containers=marks, resize=True) if marks else None
        marks = in_place.restarted_containers(old, new)
        if not (marks or in_place.is_newly_marked(old, new) or in_place.ends_sooner(old, new)):
            return None
        return replace(asked, containers=marks)

    async def _find(self, namespace: str, name: str) -> Pod | None:
        """The pod of an eviction, which carries only its name. The API server's own object decides:
        in a store that is behind, the name may still stand for an earlier pod, which is free."""
        try:
            return await self._client.get(PODS, name, namespace)
        except NotFound:
            return None

    def _is_ending(self, namespace: str) -> bool:
        known = self._namespaces.get("", namespace)
        return known is not None and is_terminating(known)

    async def _answer(self, asked: Asked) -> AdmissionResponse:
        claims = await self._claims(asked)
        if asked.operation is not Operation.DELETE and not is_available(asked.pod):
            claims = await self._confirm(asked, claims)
        warnings: list[str] = []
        spending: list[Claim] = []
        # Ask all budgets before any of them spends: a denial by one then costs no other a unit.
        for claim in claims:
            decision = self._commits.preview(claim.entry, claim.subject, asked.operation)
            if decision.allowed:
                spending.append(claim)
                if asked.dry_run:
                    self._observe(asked, claim.entry, decision, claim.mode)
            elif denial := await self._refuse(asked, claim, decision, warnings):
                return denial
        for claim in spending if not asked.dry_run else ():
            decision = await self._commits.commit(claim.entry.key, claim.subject, asked.operation)
            if decision.allowed:
                self._observe(asked, claim.entry, decision, claim.mode)
            elif denial := await self._refuse(asked, claim, decision, warnings):
                return denial
        return AdmissionResponse(allowed=True, warnings=warnings) if warnings else ALLOWED

    async def _claims(self, asked: Asked) -> list[Claim]:
        """One claim for each budget that covers the pod and protects it from this operation."""
        chain = await self._chain(asked.pod)
        return [
            Claim(entry, _subject(asked, entry, chain), entry.settings.enforcement)
            for entry in self._index.covering(asked.pod, chain)
            if _protects(entry.settings, asked)
            or _protects(await settings_now(self._client, entry), asked)
        ]

    async def _confirm(self, asked: Asked, claims: list[Claim]) -> list[Claim]:
        """Make sure that a pod that is not available was so after the last known recount. Otherwise
        that recount may have counted the pod, and then it is not free. A recorded pod needs no such
        check: the recount does not count it."""
        claims = [
            replace(
                claim,
                subject=replace(claim.subject, as_of=claim.entry.budget.status.ledger.seen),
            )
            for claim in claims
        ]
        known = asked.pod.metadata
        if all(known.uid in claim.entry.budget.status.ledger.pods for claim in claims):
            return claims
        found = await self._client.get(PODS, known.name, known.namespace)
        if found.metadata.resource_version != known.resource_version:
            raise _JustChanged(f"The pod {known.name} has just changed; try again.")
        return claims

    async def _refuse(
        self, asked: Asked, claim: Claim, decision: Decision, warnings: list[str]
    ) -> AdmissionResponse | None:
        """The denial, or None if the budget only warns or audits."""
        if claim.mode is not Enforcement.ENFORCE:
            settings = await settings_now(self._client, claim.entry)
            claim = replace(claim, mode=settings.enforcement)
        self._observe(asked, claim.entry, decision, claim.mode)
        self._tell(asked, claim.entry, decision, claim.mode)
        if claim.mode is Enforcement.WARN:
            warnings.append(decision.message)
        return denied(decision.message) if claim.mode is Enforcement.ENFORCE else None

    async def _chain(self, pod: Pod) -> Chain:
        """The owners above a pod. An owner that is too new for its store is read from the API
        server: a budget that names a workload must not miss that workload's first pods."""
        chain = self._workloads.chain(pod)
        if chain.complete or not self._index.has_targets(pod.metadata.namespace):
            return chain
        return await self._workloads.complete(pod)

    def _tell(self, asked: Asked, entry: PubEntry, decision: Decision, mode: Enforcement) -> None:
        self._denials.tell(
            Denial(
                budget=reference_to(PUBS, entry.budget.metadata),
                pod=reference_to(PODS, asked.pod.metadata),
                reason=decision.reason,
                message=decision.message,
                operation=asked.operation,
                user=asked.user,
                mode=mode,
                dry_run=asked.dry_run,
            )
        )


class _JustChanged(KubeError):
    """The pod is not the one any more that the gate has looked at."""


class _DeleteOptions(msgspec.Struct, rename="camel"):
    dry_run: list[str] | None = None


class _Eviction(msgspec.Struct, rename="camel"):
    delete_options: _DeleteOptions | None = None


_POD = msgspec.json.Decoder(Pod)
_RESIZED = msgspec.json.Decoder(ResizablePod)
_EVICTION = msgspec.json.Decoder(_Eviction)


def _subject(asked: Asked, entry: PubEntry, chain: Chain) -> Subject:
    pod = asked.pod
    key = entry.group_key
    return Subject(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resource_version,
        available=is_available(pod),
        ended=is_gone(pod),
        group=pod.metadata.labels.get(key) if key is not None else None,
        owners=tuple(owner.uid for owner in chain.owners),
        containers=asked.containers,
    )


def _protects(settings: PubSettings, asked: Asked) -> bool:
    protected = settings.operations & asked.protected_as
    return bool(protected) and not settings.ignores(asked.pod.metadata.labels)


def _too_late(name: str) -> str:
    return (
        f"Intact took longer than {_TRUSTED:g} s to decide about the pod {name}, and another pod "
        "may have this name by now; try again."
    )


def _monotonic() -> float:
    return asyncio.get_running_loop().time()
