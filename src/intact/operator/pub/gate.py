"""The gate: may this pod go, or change, now?

The API server asks it only about gated namespaces (see `webhook.registration`). A denial is 429
with the cause `DisruptionBudget`, like the Eviction API's own: `kubectl drain` waits and tries
again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from intact.budget.enforcement import Enforcement
from intact.budget.pub import in_place
from intact.budget.pub.availability import is_available, is_exempt
from intact.budget.pub.decision import Decision, Reason
from intact.budget.pub.ledger import Operation
from intact.budget.pub.settings import PubSettings
from intact.budget.pub.subject import Subject
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.events import reference_to
from intact.kube.resources import PDBS, PODS, PUBS
from intact.kube.store import Store
from intact.model.admission import (
    AdmissionRequest,
    AdmissionResponse,
    Eviction,
    read_eviction,
    read_request,
)
from intact.model.event import ObjectReference
from intact.model.places import Namespace
from intact.model.pod import Pod, ResizablePod
from intact.model.pod_state import is_gone, is_terminating
from intact.model.pub import ContainerMark
from intact.operator.pub.commits import Commits
from intact.operator.pub.confirmation import Confirmation
from intact.operator.pub.index import PubEntry, PubIndex
from intact.operator.pub.native_budgets import NativeBudgets
from intact.operator.pub.node_deadlines import NodeDeadlines
from intact.operator.pub.pin import PINNED
from intact.operator.pub.status import settings_now
from intact.operator.watch.owners import Chain, Unwanted, Workloads
from intact.operator.webhook import probe
from intact.operator.webhook.audit import Decision as Decided
from intact.operator.webhook.audit import Finding, annotated, decision_of
from intact.operator.webhook.denials import Denial, Denials
from intact.operator.webhook.responses import ALLOWED, PROBED, denied, not_found, undecided

_LONG = 0.1
"""Seconds. After a decision that took longer, the gate looks whether the pod is still the same."""
NATIVE_REFUSAL = "PodDisruptionBudget"
"""The reason of a denial that a PodDisruptionBudget would give."""
_LONGEST_IMAGE = 2000
"""Characters. The ledger keeps the image of an update."""


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

    @property
    def group(self) -> str:
        return self.subject.group or ""


@dataclass(frozen=True, slots=True)
class Said:
    """What the budgets have said to a request so far."""

    warnings: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


Observe = Callable[[Asked, PubEntry, Decision, Enforcement], None]
"""Called with each decision of each budget."""


def ignore(_asked: Asked, _entry: PubEntry, _decision: Decision, _mode: Enforcement) -> None:
    """Observes nothing."""


class Gate:
    def __init__(
        self,
        client: Client,
        confirmation: Confirmation,
        native_budgets: NativeBudgets,
        index: PubIndex,
        workloads: Workloads,
        namespaces: Store[Namespace],
        commits: Commits,
        denials: Denials,
        deadlines: NodeDeadlines,
        observe: Observe = ignore,
    ) -> None:
        self._client = client
        self._confirmation = confirmation
        self._native_budgets = native_budgets
        self._index = index
        self._workloads = workloads
        self._namespaces = namespaces
        self._commits = commits
        self._denials = denials
        self._deadlines = deadlines
        self._observe = observe

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        try:
            answer = await self._judge(request)
        except _Later as error:
            return undecided(str(error))
        except KubeError as error:
            return undecided(f"Intact cannot read what it needs to decide this: {error}")
        return answer if answer.audit_annotations else annotated(answer)

    async def _judge(self, request: AdmissionRequest) -> AdmissionResponse:
        if request.sub_resource == "eviction":
            return await self._judge_eviction(request)
        shown = _POD.decode(request.old_object)
        pod = await self._confirmation.of(shown.metadata)
        asked = _understand(request, pod) if pod is not None else None
        return await self._answer(asked) if asked is not None else ALLOWED

    async def _judge_eviction(self, request: AdmissionRequest) -> AdmissionResponse:
        """An eviction carries only the name of its pod and, once it is pinned, the UID. The API
        server's own object decides: a store that is behind may miss what the pod is labelled as."""
        begun = _monotonic()
        eviction, name = read_eviction(request.object), request.name
        uid = eviction.uid
        if uid == probe.PINNED:
            return PROBED
        if not uid:
            raise _Later(
                f"The eviction of the pod {name} has no UID of a pod. Intact puts it there with a "
                "mutating webhook: either another webhook removes it, or the API server does not "
                "call that webhook yet."
            )
        pod = await self._confirmation.named(request.namespace, name)
        if pod is None or pod.metadata.uid != uid:
            _expect_no_conflict(eviction, pod)
            # Allowed, a pod that comes under this name in the next moment would be a conflict.
            return not_found(PODS, name) if _is_pinned(eviction) else ALLOWED
        dry_run = request.dry_run or eviction.is_dry_run
        answer = await self._answer(
            Asked(Operation.EVICT, pod, dry_run, request.user_info.username)
        )
        if not answer.allowed or _monotonic() < begun + _LONG:
            return answer
        now = await self._confirmation.named(request.namespace, name)
        if now is not None and now.metadata.uid != uid:
            _expect_no_conflict(eviction, now)
        return answer

    def _is_ending(self, namespace: str) -> bool:
        known = self._namespaces.get("", namespace)
        return known is not None and is_terminating(known)

    async def _answer(self, asked: Asked) -> AdmissionResponse:
        if is_exempt(asked.pod) or self._is_ending(asked.pod.metadata.namespace):
            return ALLOWED
        said = Said()
        return annotated(await self._decide(asked, said), said.findings)

    async def _decide(self, asked: Asked, said: Said) -> AdmissionResponse:
        claims = await self._claims(asked)
        if asked.operation is not Operation.DELETE and not is_available(asked.pod):
            claims = await self._confirm(asked, claims)
        spending: list[Claim] = []
        # Ask all budgets before any of them spends: a denial by one then costs no other a unit.
        for claim in claims:
            asking, decision = await self._preview(asked, claim)
            if decision.allowed:
                spending.append(asking)
                if asked.dry_run:
                    self._note(asked, asking, decision, said)
            elif denial := await self._refuse(asked, asking, decision, said):
                return denial
        # The API server asks PodDisruptionBudgets last. What they refuse costs no unit.
        evicts = asked.operation is Operation.EVICT and bool(spending)
        if evicts and (refusal := await self._native_budgets.refusal(asked.pod)):
            native = reference_to(PDBS, refusal.budget.metadata)
            said.findings.append(Finding(native, Decided.DENIED, NATIVE_REFUSAL))
            if not refusal.is_told:
                self._tell(asked, native, NATIVE_REFUSAL, refusal.message, None)
            return denied(refusal.message)
        if not asked.dry_run and (denial := await self._spend(asked, spending, said)):
            return denial
        return AdmissionResponse(allowed=True, warnings=said.warnings)

    async def _preview(self, asked: Asked, claim: Claim) -> tuple[Claim, Decision]:
        """What the budget would say now, and the claim to commit. A denial looks whether the pod's
        node must be empty."""
        decision = self._commits.preview(claim.entry, claim.subject, asked.operation)
        node = asked.pod.spec.node_name
        if decision.allowed or not node or asked.operation is Operation.UPDATE:
            return claim, decision
        deadline = await self._deadlines.of(node)
        if deadline is None:
            return claim, decision
        claim = replace(claim, subject=replace(claim.subject, deadline=deadline))
        return claim, self._commits.preview(claim.entry, claim.subject, asked.operation)

    async def _spend(
        self, asked: Asked, claims: list[Claim], said: Said
    ) -> AdmissionResponse | None:
        """Store what each budget allows. Returns the first denial."""
        if asked.operation is Operation.EVICT:
            self._native_budgets.let_through(asked.pod)
        for claim in claims:
            decision = await self._commits.commit(claim.entry.key, claim.subject, asked.operation)
            if decision.allowed:
                budget = self._note(asked, claim, decision, said)
                if decision.reason is Reason.NODE_DEADLINE:
                    assert claim.subject.deadline is not None
                    pod = reference_to(PODS, asked.pod.metadata)
                    self._deadlines.tell(claim.subject.deadline, pod, budget, decision.message)
            elif denial := await self._refuse(asked, claim, decision, said):
                self._native_budgets.give_back(asked.pod)
                return denial
        return None

    async def _claims(self, asked: Asked) -> list[Claim]:
        """One claim for each budget that covers the pod and protects it from this operation."""
        chain = await self._chain(asked.pod)
        unwanted = self._workloads.unwanted(asked.pod, chain)
        entries = self._index.covering(asked.pod, chain)
        released = {uid for entry in entries for uid in entry.budget.status.ledger.released}
        wanted_by = await self._workloads.wanting(asked.pod, chain, released)
        return [
            Claim(
                entry,
                _subject(asked, entry, chain, unwanted, wanted_by),
                entry.settings.enforcement,
            )
            for entry in entries
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
        found = await self._confirmation.read(known.namespace, known.name, known.uid)
        if found is None or found.metadata.resource_version != known.resource_version:
            raise _Later(f"The pod {known.name} has just changed; try again.")
        return claims

    async def _refuse(
        self, asked: Asked, claim: Claim, decision: Decision, said: Said
    ) -> AdmissionResponse | None:
        """The denial, or None if the budget only warns or audits."""
        if claim.mode is not Enforcement.ENFORCE:
            settings = await settings_now(self._client, claim.entry)
            claim = replace(claim, mode=settings.enforcement)
        budget = self._note(asked, claim, decision, said)
        self._tell(asked, budget, decision.reason, decision.message, claim)
        if claim.mode is Enforcement.WARN:
            said.warnings.append(decision.message)
        return denied(decision.message) if claim.mode is Enforcement.ENFORCE else None

    def _note(self, asked: Asked, claim: Claim, decision: Decision, said: Said) -> ObjectReference:
        """Observe a decision, and keep it for the audit log."""
        self._observe(asked, claim.entry, decision, claim.mode)
        budget = reference_to(PUBS, claim.entry.budget.metadata)
        decided = decision_of(allowed=decision.allowed, mode=claim.mode)
        said.findings.append(Finding(budget, decided, decision.reason, [claim.group]))
        return budget

    async def _chain(self, pod: Pod) -> Chain:
        """The owners above a pod. An owner that is too new for its store is read from the API
        server: a budget that names a workload must not miss that workload's first pods."""
        chain = self._workloads.chain(pod)
        if chain.complete or not self._index.has_targets(pod.metadata.namespace):
            return chain
        return await self._workloads.complete(pod)

    def _tell(
        self,
        asked: Asked,
        budget: ObjectReference,
        reason: str,
        message: str,
        claim: Claim | None,
    ) -> None:
        """Of one budget; without a claim it is a PodDisruptionBudget's."""
        has_deadline = claim is not None and claim.subject.deadline is not None
        empties_node = asked.operation is Operation.EVICT or has_deadline
        self._denials.tell(
            Denial(
                budget=budget,
                pod=reference_to(PODS, asked.pod.metadata),
                reason=reason,
                message=message,
                operation=asked.operation,
                user=asked.user,
                group=claim.group if claim is not None else "",
                node=asked.pod.spec.node_name if empties_node else "",
                mode=claim.mode if claim is not None else Enforcement.ENFORCE,
                dry_run=asked.dry_run,
            )
        )


class _Later(KubeError):
    """It cannot be decided now, for a reason that passes."""


_POD = msgspec.json.Decoder(Pod)
_RESIZED = msgspec.json.Decoder(ResizablePod)


def _understand(request: AdmissionRequest, pod: Pod) -> Asked | None:
    """What is asked for, or None if it cannot make the pod unavailable."""
    user, dry_run = request.user_info.username, request.dry_run
    if request.operation == "DELETE":
        return Asked(Operation.DELETE, pod, dry_run, user)
    new = _POD.decode(request.object)
    asked = Asked(Operation.UPDATE, pod, dry_run, user)
    # Before Kubernetes 1.32 a resize is an update of the pod itself.
    resized = in_place.restarting_resizes(
        _RESIZED.decode(request.old_object), _RESIZED.decode(request.object)
    )
    own = {container.name for container in pod.spec.all_containers()}
    marks = in_place.mark_containers(pod, {name: "" for name in resized if name in own})
    asked = replace(asked, resize=bool(marks))
    if request.sub_resource == "resize":
        return replace(asked, containers=marks) if marks else None
    marks |= in_place.restarted_containers(pod, new)
    if any(len(mark.wanted) > _LONGEST_IMAGE for mark in marks.values()):
        raise _Later(f"An image of the pod {pod.metadata.name} has a name that is too long.")
    if not (marks or in_place.is_newly_marked(pod, new) or in_place.ends_sooner(pod, new)):
        return None
    return replace(asked, containers=marks)


def _subject(
    asked: Asked,
    entry: PubEntry,
    chain: Chain,
    unwanted: Unwanted | None,
    wanted_by: tuple[str, ...],
) -> Subject:
    pod = asked.pod
    return Subject(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resource_version,
        available=is_available(pod),
        ended=is_gone(pod),
        group=entry.group_and_need(pod)[0],
        owners=tuple(owner.uid for owner in chain.owners),
        wanted_by=wanted_by,
        unwanted=unwanted,
        containers=asked.containers,
    )


def _protects(settings: PubSettings, asked: Asked) -> bool:
    protected = settings.operations & asked.protected_as
    return bool(protected) and not settings.ignores(asked.pod.metadata.labels)


def _expect_no_conflict(eviction: Eviction, present: Pod | None) -> None:
    """The API server finds another UID, or no pod at all, and says so. An evictor that has named no
    UID does not expect a conflict: kubectl drain would give up."""
    if present is not None and _is_pinned(eviction):
        raise _Later(f"The pod {present.metadata.name} has been replaced meanwhile; try again.")


def _is_pinned(eviction: Eviction) -> bool:
    """Whether its UID is not the evictor's own."""
    return PINNED in (eviction.metadata.annotations or ())


def _monotonic() -> float:
    return asyncio.get_running_loop().time()
