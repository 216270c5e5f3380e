"""Findings about groups: budgets that count them, and budgets that should."""

from collections import defaultdict
from collections.abc import Iterator

from intact.budget.label_groups import group_of, is_batch_key
from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED
from intact.budget.pdb.group_conditions import NEED_NOT_REACHED as PDB_NEED_NOT_REACHED
from intact.budget.pdb.group_settings import GROUP_LABEL_KEY, MIN_READY_REPLICAS, read_settings
from intact.budget.pdb.group_sources import LWS_GROUP_KEY, LWS_NAME, reference_of
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.budget.pub.conditions import MIN_READY_UNREACHABLE
from intact.model.labels import BATCH
from intact.model.listing import listed
from intact.model.pod import DetailedPod
from intact.picture.findings import rules
from intact.picture.findings.facts import Subject
from intact.picture.findings.finding import Finding, Severity, found

_INDEX = "leaderworkerset.sigs.k8s.io/group-index"


def about_groups(subject: Subject) -> Iterator[Finding]:
    if subject.errors:
        return
    if not subject.budget.in_groups:
        yield from _pods_of_groups(subject)
        return
    yield from _without_group(subject)
    yield from _need(subject)
    yield from _need_of_one(subject)
    yield from _ambiguous(subject)


def _pods_of_groups(subject: Subject) -> Iterator[Finding]:
    if subject.pdb is not None and SCOPE_LABEL in subject.pdb.metadata.labels:
        return  # it says that it means pods
    key, size, groups = _groups_seen(subject)
    if not groups:
        return
    message = (
        f"the budget counts pods ({_amounts(subject)}), and its pods serve in groups of {size}: "
        f"one pod that goes breaks a whole group ({listed(sorted(groups))})"
    )
    if subject.pdb is not None:
        action = f"With Intact, set the label {SCOPE_LABEL}: Workload"
        action += f", and the annotation {GROUP_LABEL_KEY}: {key}" if is_batch_key(key) else ""
        field = "metadata"
    else:
        policy = f"groupLabelKey: {key}" if key else "groupLabelKey: LABEL"
        policy += "" if is_batch_key(key) else f", minReadyReplicas: {size}"
        action = f"Set spec.podGroupPolicy: {{{policy}}}"
        field = "spec"
    action += "; then the amounts count groups."
    yield found(rules.PODS_OF_GROUPS, subject.about, message, action, field)


def _groups_seen(subject: Subject) -> tuple[str, int, set[str]]:
    """The label that names the group, if one does; the need of the largest, and the groups with
    more than one pod. Pods of one budget are of one kind."""
    unit_of = subject.facts.picture.groups_of.get(subject.budget.namespace)
    size, groups, key = 0, set(), ""
    for pod in subject.pods:
        unit = unit_of(pod) if unit_of is not None else None
        if unit is not None and unit.need > 1:
            size, key = max(size, unit.need), LWS_GROUP_KEY
            groups.add(unit.name)
            key = LWS_GROUP_KEY if LWS_GROUP_KEY in pod.metadata.labels else ""
    if groups:
        return key, size, groups
    return _batches_seen(subject)


def _batches_seen(subject: Subject) -> tuple[str, int, set[str]]:
    members: dict[str, list[DetailedPod]] = defaultdict(list)
    key = ""
    for pod in subject.pods:
        for label in pod.metadata.labels:
            if label.startswith(BATCH):
                key = label
                members[group_of(pod, label) or ""].append(pod)
    size = max(map(len, members.values()), default=0)
    return (key, size, set(members)) if size > 1 else ("", 0, set())


def _amounts(subject: Subject) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in subject.amounts.items()) or "no amount"


def _without_group(subject: Subject) -> Iterator[Finding]:
    key = subject.group_label_key
    bare: list[str] = []
    undefined: set[str] = set()
    for unit in subject.budget.units:
        if unit.is_group and unit.need is None:
            undefined.add(unit.name)
        if unit.is_group:
            continue
        for pod in unit.pods:
            if subject.pdb is not None:
                reference = reference_of(pod, read_settings(subject.pdb))
                named = reference.group if reference is not None else None
            else:
                named = group_of(pod, key)
            if named is None:
                bare.append(pod.metadata.name)
            else:
                undefined.add(named)
    if bare:
        yield _bare(subject, key, sorted(bare))
    if undefined:
        yield _undefined(subject, sorted(undefined))


def _bare(subject: Subject, key: str, names: list[str]) -> Finding:
    if subject.pub is not None:
        message = f"pods lack the label {key}: each of them counts as a unit of its own"
        action = f"Set the label {key} in the pod template, or correct groupLabelKey."
        field, severity = "spec.podGroupPolicy.groupLabelKey", Severity.WARNING
    else:
        of = f"the label {key}" if key else "a PodGroup, a Workload or labels of a LeaderWorkerSet"
        message = f"the budget counts groups, and pods lack {of}: they count as unhealthy"
        action = (
            f"Set the label {key} in the pod template, or correct the annotation {GROUP_LABEL_KEY}."
            if key
            else f"Name the label of the groups with the annotation {GROUP_LABEL_KEY}."
        )
        field = f"metadata.annotations[{GROUP_LABEL_KEY}]" if key else "metadata"
        severity = Severity.ERROR
    message += f": {listed(names)}"
    return found(rules.NO_GROUP, subject.about, message, action, field, severity)


def _undefined(subject: Subject, groups: list[str]) -> Finding:
    missing = "does not exist" if subject.live else "is not in these files"
    message = (
        f"it is unknown how many pods these groups need, because their PodGroup, Workload or "
        f"LeaderWorkerSet {missing} or has no gang policy: {listed(groups)}"
    )
    action = f"Create the definition, or set the annotation {MIN_READY_REPLICAS}."
    severity = Severity.ERROR if subject.live else Severity.NOTE
    return found(rules.GROUP_UNDEFINED, subject.about, message, action, "metadata", severity)


def _need(subject: Subject) -> Iterator[Finding]:
    field = (
        "spec.podGroupPolicy.minReadyReplicas"
        if subject.pub is not None
        else f"metadata.annotations[{MIN_READY_REPLICAS}]"
    )
    action = "Lower it to the pods of a group, or correct the label of the groups."
    if subject.live and subject.budget.counted and subject.budget.intact:
        yield from _need_told(subject, field, action)
        return
    short = [unit for unit in subject.groups if len(unit.pods) < (unit.need or 0)]
    if not short:
        return
    need, largest = max(u.need or 0 for u in short), max(len(u.pods) for u in subject.groups)
    name = field.rpartition(".")[2] if subject.pub is not None else MIN_READY_REPLICAS
    names = listed(sorted(unit.name for unit in short))
    if len(short) == len(subject.groups):
        message = (
            f"{name} is {need}, and the largest group has {largest} pods: no group can ever be "
            f"available ({names})"
        )
        if _stated(subject) is None:
            message = message.replace(f"{name} is {need}", f"a group needs {need} pods")
        yield found(rules.NEED_NOT_REACHED, subject.about, message, action, field)
    else:
        message = f"{name} is {need}, and these groups have fewer pods: {names}"
        if _stated(subject) is None:
            message = message.replace(f"{name} is {need}", f"a group needs {need} pods")
        yield found(rules.GROUPS_TOO_SMALL, subject.about, message, action, field)


def _need_told(subject: Subject, field: str, action: str) -> Iterator[Finding]:
    """A cluster where Intact counts says it itself: pods may be missing for a moment only."""
    told = subject.budget.condition_of(
        MIN_READY_UNREACHABLE if subject.pub is not None else BUDGET_CONFIGURED
    )
    if told is None:
        return
    if subject.pub is not None and told.status == "True":
        some = told.reason == "SomeGroupsTooSmall"
        rule = rules.GROUPS_TOO_SMALL if some else rules.NEED_NOT_REACHED
        yield found(rule, subject.about, told.message, action, field)
    elif told.reason == PDB_NEED_NOT_REACHED:
        yield found(rules.NEED_NOT_REACHED, subject.about, told.message, action, field)


def _stated(subject: Subject) -> int | None:
    """What the budget itself says that a group needs."""
    if subject.pub is not None:
        policy = subject.pub.spec.pod_group_policy
        return policy.min_ready_replicas if policy else None
    assert subject.pdb is not None
    return read_settings(subject.pdb).min_ready


def _need_of_one(subject: Subject) -> Iterator[Finding]:
    key = subject.group_label_key
    if not key or is_batch_key(key) or _stated(subject) is not None:
        return
    size = max((len(unit.pods) for unit in subject.groups), default=0)
    if size < 2:
        return
    name = "spec.podGroupPolicy.minReadyReplicas" if subject.pub else MIN_READY_REPLICAS
    message = (
        f"{name} is not set, so that a group of {size} pods counts as available while one of them "
        "is: the others are free to go"
    )
    action = f"Set it to {size}, if a group serves only whole."
    field = "spec.podGroupPolicy" if subject.pub else f"metadata.annotations[{GROUP_LABEL_KEY}]"
    yield found(rules.NEED_OF_ONE, subject.about, message, action, field)


def _ambiguous(subject: Subject) -> Iterator[Finding]:
    if subject.group_label_key != _INDEX:
        return
    sets = {pod.metadata.labels.get(LWS_NAME, "") for pod in subject.pods} - {""}
    if len(sets) < 2:
        return
    message = (
        f"the groups are named by {_INDEX}, which repeats from one LeaderWorkerSet to the next: "
        f"groups of {listed(sorted(sets))} are counted as one"
    )
    action = f"Use {LWS_GROUP_KEY}, which is unique."
    field = (
        "spec.podGroupPolicy.groupLabelKey"
        if subject.pub
        else f"metadata.annotations[{GROUP_LABEL_KEY}]"
    )
    yield found(rules.AMBIGUOUS_KEY, subject.about, message, action, field)
