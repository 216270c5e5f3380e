"""May this pod go now, what does it wait for, and how can it go all the same?

The verdict is that of the server: the decisions of the gates and of the Eviction API are made here,
on the objects of the picture. Nothing is spent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from intact.budget.pub.node_deadline import NodeDeadline, deadline_of
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Node, NodeClaim, claim_of
from intact.model.pod import DetailedPod
from intact.model.pod_state import controller_of, is_finished, is_terminating
from intact.picture.budget_verdict import BudgetVerdict, both
from intact.picture.budgets import BudgetPicture
from intact.picture.causes import PodCause, Waited, cause_of
from intact.picture.coverage import PUB
from intact.picture.pdb_verdict import LiveGroups, judge_pdbs
from intact.picture.picture import Picture
from intact.picture.pub_verdict import judge_pub
from intact.picture.reasons import Reason, Word, strictness
from intact.picture.units import UnitPicture


@dataclass(frozen=True, slots=True)
class PodVerdict:
    pod: DetailedPod
    word: Word
    """The strictest of its own and of its budgets'."""
    reason: Reason
    text: str
    """What holds the pod itself, whatever its budgets say; empty if nothing does."""
    budgets: tuple[BudgetVerdict, ...]
    group: UnitPicture | None
    """The group that the pod is part of."""
    cause: PodCause | None
    """Why the pod is not available; None if it is."""
    when: str
    """`It may go when shard-0 is ready again.`; empty if it may go now."""
    release: tuple[str, ...]
    """Commands that let it go now, one after the other; none if it may go, or nothing helps."""
    notes: tuple[str, ...]

    @property
    def holding(self) -> list[BudgetVerdict]:
        """The budgets that hold it, the strictest first."""
        found = [one for one in self.budgets if one.word is not Word.MAY_GO]
        return sorted(found, key=lambda one: -strictness(one.word))

    @property
    def waits_for(self) -> list[Waited]:
        """Each unit once."""
        found = {
            (one.unit.is_group, one.unit.name): one
            for each in self.holding
            for one in each.waits_for
        }
        return list(found.values())


def judge(picture: Picture, pod: DetailedPod, now: datetime) -> PodVerdict:
    """For several pods of one picture, `Judge` counts the groups of each budget once."""
    return Judge(picture, now).of(pod)


@dataclass(frozen=True, slots=True)
class _Own:
    """What holds a pod whatever its budgets say."""

    word: Word
    reason: Reason
    text: str
    when: str = ""
    release: tuple[str, ...] = ()


class Judge:
    def __init__(self, picture: Picture, now: datetime) -> None:
        self._picture = picture
        self._now = now
        self._live: dict[tuple[str, str], LiveGroups] = {}
        self._nodes = {node.metadata.name: node for node in picture.objects.nodes}
        claims = {one.metadata.name: one for one in picture.objects.node_claims}
        self._deadlines = {name: _deadline_of(node, claims) for name, node in self._nodes.items()}
        self._groups = {
            pod.metadata.uid: unit for unit, _budgets in picture.groups for pod in unit.pods
        }

    def of(self, pod: DetailedPod) -> PodVerdict:
        own = self._own(pod)
        ends = is_terminating(pod) or is_finished(pod)
        budgets = () if ends else tuple(self._budgets(pod))
        return self._merged(pod, own, budgets)

    def _budgets(self, pod: DetailedPod) -> Iterator[BudgetVerdict]:
        picture, leading = self._picture, self._picture.objects.leading
        covering = picture.covering(pod)
        for one in covering:
            if one.kind == PUB:
                yield judge_pub(
                    one, pod, picture.above(pod), leading, self._now, self._deadline_of(pod)
                )
        pdbs = [one for one in covering if one.kind != PUB]
        yield from judge_pdbs(pdbs, pod, self._live_of, leading, self._now)

    def _deadline_of(self, pod: DetailedPod) -> NodeDeadline | None:
        return self._deadlines.get(pod.spec.node_name)

    def _live_of(self, found: BudgetPicture) -> LiveGroups:
        key = (found.namespace, found.name)
        if key not in self._live:
            assert isinstance(found.budget, PodDisruptionBudget)
            pods = [
                pod
                for pod in self._picture.objects.pods
                if pod.metadata.namespace == found.namespace and found.coverage.covers(pod)
            ]
            definitions = self._picture.definitions[found.namespace]
            self._live[key] = LiveGroups(found.budget, pods, definitions)
        return self._live[key]

    def _own(self, pod: DetailedPod) -> _Own | None:
        if is_terminating(pod):
            return _terminating(pod, self._nodes.get(pod.spec.node_name))
        if is_finished(pod):
            return _Own(Word.MAY_GO, Reason.FINISHED, f"it has ended: {pod.status.phase}")
        if pod.metadata.annotations.mirror is not None:
            text = "a mirror of a static pod: the kubelet of its node runs it, and drains leave it"
            return _Own(Word.NEVER, Reason.MIRROR, text, "its manifest is taken from the node")
        owner = controller_of(pod)
        if owner is not None and owner.kind == "DaemonSet":
            text = f"a pod of the DaemonSet {owner.name}: drains leave it, for it would come back"
            return _Own(Word.NEVER, Reason.DAEMON_SET, text, "its DaemonSet leaves the node")
        return None

    def _merged(
        self, pod: DetailedPod, own: _Own | None, budgets: tuple[BudgetVerdict, ...]
    ) -> PodVerdict:
        says = [(one.word, one.reason, one.when) for one in budgets]
        if own is not None:
            says.insert(0, (own.word, own.reason, own.when))
        word, reason, _when = max(
            says, key=lambda one: strictness(one[0]), default=(Word.MAY_GO, Reason.NO_BUDGET, "")
        )
        clauses = list(dict.fromkeys(when for each, _reason, when in says if each is word and when))
        return PodVerdict(
            pod=pod,
            word=word,
            reason=reason,
            text=own.text if own is not None else "",
            budgets=budgets,
            group=self._groups.get(pod.metadata.uid),
            cause=cause_of(pod),
            when=_sentence(word, reason, clauses),
            release=_release(pod, own, budgets),
            notes=tuple(_notes(pod, budgets, self._deadline_of(pod))),
        )


def _deadline_of(node: Node, claims: Mapping[str, NodeClaim]) -> NodeDeadline | None:
    owner = claim_of(node.metadata)
    return deadline_of(node, claims.get(owner.name) if owner is not None else None)


def _terminating(pod: DetailedPod, node: Node | None) -> _Own:
    meta = pod.metadata
    if node is not None and not node.is_ready:
        text = f"it is being deleted, and its node {node.metadata.name} does not confirm: NotReady"
        command = f"kubectl delete pod {meta.name} -n {meta.namespace} --force --grace-period=0"
        when = f"{node.metadata.name} is ready again, or is deleted"
        return _Own(Word.WAITS, Reason.NODE_NOT_READY, text, when, (command,))
    if meta.finalizers:
        names = both(meta.finalizers)
        one = len(meta.finalizers) == 1
        held = f"the finalizer {names} holds it" if one else f"the finalizers {names} hold it"
        text = f"it is being deleted, and {held}"
        when = f"{names} {'is' if one else 'are'} removed, as a controller should do"
        return _Own(Word.WAITS, Reason.FINALIZER, text, when)
    return _Own(Word.WAITS, Reason.TERMINATING, "it is being deleted", "its containers have ended")


def _sentence(word: Word, reason: Reason, clauses: list[str]) -> str:
    if word is Word.MAY_GO or not clauses:
        return ""
    said = " and ".join(clauses)
    if reason in (Reason.FINALIZER, Reason.NODE_NOT_READY, Reason.TERMINATING):
        return f"It is gone when {said}."
    if word is Word.NEVER:
        return f"It does not go until {said}."
    return f"It may go when {said}."


def _release(
    pod: DetailedPod, own: _Own | None, budgets: tuple[BudgetVerdict, ...]
) -> tuple[str, ...]:
    if own is not None:
        return own.release
    name, namespace = pod.metadata.name, pod.metadata.namespace
    held = [one for one in budgets if one.word is not Word.MAY_GO]
    found = []
    pubs = [one for one in held if one.budget.kind == PUB]
    if any(one.reason is Reason.INTACT_DOWN for one in pubs):
        found.append(f"kubectl label namespace {namespace} intact.dev/gated-")
    elif pubs:
        found.append(f"kubectl annotate pod {name} -n {namespace} pub.kruise.io/no-protect=true")
    if len(pubs) < len(held):
        # A PodDisruptionBudget holds evictions alone.
        found.append(f"kubectl delete pod {name} -n {namespace}")
    return tuple(found)


def _notes(
    pod: DetailedPod, budgets: tuple[BudgetVerdict, ...], deadline: NodeDeadline | None
) -> Iterator[str]:
    for one in budgets:
        if one.note:
            yield f"{one.budget.reference}: {one.note}"
    if deadline is not None:
        yield from (
            each for each in (deadline.text and f"its {deadline.text}", deadline.problem) if each
        )
    if is_terminating(pod) or is_finished(pod) or pod.metadata.annotations.mirror is not None:
        return
    owner = controller_of(pod)
    if owner is None:
        yield "it has no controller: it does not come back, and kubectl drain asks for --force"
    if any(volume.empty_dir is not None for volume in pod.spec.volumes) and (
        owner is None or owner.kind != "DaemonSet"
    ):
        yield "it has an emptyDir, which is lost: kubectl drain asks for --delete-emptydir-data"
