"""Whether a RoleBasedGroup may be stored, and whether Intact can work on it, by its own spec.

The CRD checks single fields, and this module checks them again for commands that ask no API server.
Amounts, and the rules across fields, are checked only here: before Kubernetes 1.34 the API server
takes an amount to be as long as a whole request, and refuses a CRD with rules on it. An update is
not refused for an error that was there before: an invalid RoleBasedGroup that got in must stay
editable.
"""

from collections.abc import Iterator, Sequence

from intact.model.amounts import IntOrPercent, divide_up
from intact.model.field_error import FieldError
from intact.model.labels import is_dns_label, is_label_key
from intact.model.rbg import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    STATEFUL_SET,
    Coordination,
    Json,
    RbgSpec,
    Role,
    RoleBasedGroup,
)
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    PARALLEL,
    ROLLING_UPDATE,
    SEQUENTIAL,
    TYPES,
    batching,
    coordination_of,
    of_type,
    type_of,
)
from intact.rollout.names import LONGEST_ROLE, LONGEST_WORKLOAD, workload_name
from intact.rollout.ratios import GRAMMAR, is_ratio, most_unavailable, parse
from intact.rollout.spec.dependencies import find_cycle
from intact.rollout.spec.exclusive import exclusive_errors
from intact.rollout.spec.role_strategy import standstill_errors, strategy_errors, strategy_field
from intact.rollout.spec.service_ports import port_errors
from intact.rollout.spec.template_shape import shape_errors
from intact.rollout.spec.upstream import refusals

ON_FAILURE = ("Pause", "Rollback")

_KINDS = (
    "must be StatefulSet or Deployment of apps/v1, or LeaderWorkerSet of "
    "leaderworkerset.x-k8s.io/v1"
)


def validate(group: RoleBasedGroup, old: RoleBasedGroup | None = None) -> list[FieldError]:
    """What speaks against storing it."""
    known = [] if old is None else [*_errors(old), *_refused_later(old)]
    rules = [] if old is None else old.spec.coordination
    found = [*_errors(group), *_refused_later(group), *_ways_forward(group.spec, rules)]
    return [error for error in found if error not in known]


def unworkable(group: RoleBasedGroup) -> list[FieldError]:
    """What keeps Intact from working on it. A role that was scaled down to where its ratio of
    unavailable replicas is less than one is still updated, one at a time."""
    return list(_errors(group))


def _refused_later(group: RoleBasedGroup) -> Iterator[FieldError]:
    """What the API server would refuse of one role. A RoleBasedGroup that has it already goes on
    with its other roles."""
    yield from exclusive_errors(group)
    for index, role in enumerate(group.spec.roles):
        path = f"spec.roles[{index}]"
        yield from standstill_errors(role, path)
        yield from port_errors(role, path)


def in_words(errors: Sequence[FieldError]) -> str:
    return "; ".join(map(str, errors))


def _errors(group: RoleBasedGroup) -> Iterator[FieldError]:
    yield from _name(group)
    yield from _role_templates(group.spec)
    yield from _roles(group)
    yield from refusals(group.spec)
    yield from _dependencies(group.spec)
    for index, coordination in enumerate(group.spec.coordination):
        yield from _coordination(group.spec, coordination, f"spec.coordination[{index}]")
    yield from _overlaps(group.spec)
    on_failure = group.spec.on_failure
    if on_failure and on_failure not in ON_FAILURE:
        yield FieldError("spec.onFailure", on_failure, f"must be {' or '.join(ON_FAILURE)}")
    deadline = group.spec.progress_deadline_seconds
    if deadline is not None and deadline < 1:
        yield FieldError("spec.progressDeadlineSeconds", deadline, "must be at least 1")


def _name(group: RoleBasedGroup) -> Iterator[FieldError]:
    name = group.metadata.name
    if name and not is_dns_label(name):
        message = "must be a DNS label: Services and pods are named after it"
        yield FieldError("metadata.name", name, message)


def _roles(group: RoleBasedGroup) -> Iterator[FieldError]:
    if not group.spec.roles:
        yield FieldError("spec.roles", None, "must have at least one role")
    seen: set[str] = set()
    for index, role in enumerate(group.spec.roles):
        path = f"spec.roles[{index}]"
        if role.name in seen:
            yield FieldError(f"{path}.name", role.name, "another role has this name")
        seen.add(role.name)
        yield from _role_name(group.metadata.name, role, path)
        if role.replicas is not None and role.replicas < 0:
            yield FieldError(f"{path}.replicas", role.replicas, "must be at least 0")
        yield from _workload(role, path)
        yield from _template(group.spec, role, path)
        yield from strategy_errors(role, path)


def _role_templates(spec: RbgSpec) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(spec.role_templates):
        path = f"spec.roleTemplates[{index}]"
        if not is_dns_label(each.name):
            yield FieldError(f"{path}.name", each.name, "must be a DNS label, such as engine")
        if each.name in seen:
            yield FieldError(f"{path}.name", each.name, "another template has this name")
        seen.add(each.name)
        yield from _containers(each.template, f"{path}.template")
        yield from shape_errors(each.template, f"{path}.template")


def _template(spec: RbgSpec, role: Role, path: str) -> Iterator[FieldError]:
    """Its own, or one of `roleTemplates` with a patch."""
    ref = role.template_ref
    if ref is None:
        if role.template_patch is not None:
            message = "is a patch on the template of templateRef, and the role has no templateRef"
            yield FieldError(f"{path}.templatePatch", None, message)
        sets = role.leader_worker_set
        patched = sets is not None and (sets.patch_leader_template or sets.patch_worker_template)
        if not patched and not role.components:
            yield from _containers(role.template, f"{path}.template")
    else:
        if role.template:
            message = "template is set as well: set only one of the two"
            yield FieldError(f"{path}.templateRef", None, message)
        if all(each.name != ref.name for each in spec.role_templates):
            message = "spec.roleTemplates has no template of this name"
            yield FieldError(f"{path}.templateRef.name", ref.name, message)
    yield from shape_errors(role.template, f"{path}.template")
    yield from shape_errors(role.template_patch or {}, f"{path}.templatePatch")


def _containers(template: Json, path: str) -> Iterator[FieldError]:
    spec = template.get("spec")
    if not (isinstance(spec, dict) and spec.get("containers")):
        yield FieldError(f"{path}.spec.containers", None, "must name at least one container")


def _role_name(group: str, role: Role, path: str) -> Iterator[FieldError]:
    if not is_dns_label(role.name):
        yield FieldError(f"{path}.name", role.name, "must be a DNS label, such as prefill")
    if len(role.name) > LONGEST_ROLE:
        message = f"has {len(role.name)} characters; at most {LONGEST_ROLE} are allowed"
        yield FieldError(f"{path}.name", role.name, message)
    workload = workload_name(group, role.name)
    if len(workload) > LONGEST_WORKLOAD:
        message = (
            f"the name of the workload, {workload}, would have {len(workload)} characters; at most "
            f"{LONGEST_WORKLOAD} are allowed"
        )
        yield FieldError(f"{path}.name", role.name, message)


def _workload(role: Role, path: str) -> Iterator[FieldError]:
    kind = role.kind
    if kind not in (STATEFUL_SET, DEPLOYMENT, LEADER_WORKER_SET):
        given = f"{role.workload.kind} of {role.workload.api_version}"
        yield FieldError(f"{path}.workload", given, _KINDS)
    sets = role.leader_worker_set
    if sets is not None and kind != LEADER_WORKER_SET:
        message = f"is for a LeaderWorkerSet; this role is a {role.workload.kind}"
        yield FieldError(f"{path}.leaderWorkerSet", None, message)
    if sets is not None and sets.size is not None and sets.size < 1:
        yield FieldError(f"{path}.leaderWorkerSet.size", sets.size, "must be at least 1")
    for name, patch in (
        ("patchLeaderTemplate", sets.patch_leader_template if sets else None),
        ("patchWorkerTemplate", sets.patch_worker_template if sets else None),
    ):
        yield from shape_errors(patch or {}, f"{path}.leaderWorkerSet.{name}")


def _dependencies(spec: RbgSpec) -> Iterator[FieldError]:
    names = {role.name for role in spec.roles}
    for index, role in enumerate(spec.roles):
        for at, name in enumerate(role.dependencies):
            if name not in names:
                path = f"spec.roles[{index}].dependencies[{at}]"
                yield FieldError(path, name, "there is no role of this name")
    cycle = find_cycle({role.name: role.dependencies for role in spec.roles})
    if cycle:
        index = next(at for at, role in enumerate(spec.roles) if role.name == cycle[0])
        message = f"the roles depend on each other: {' -> '.join([*cycle, cycle[0]])}"
        yield FieldError(f"spec.roles[{index}].dependencies", None, message)


def _coordination(spec: RbgSpec, each: Coordination, path: str) -> Iterator[FieldError]:
    if not is_dns_label(each.name) or len(each.name) > 63:
        yield FieldError(f"{path}.name", each.name, "must be a DNS label, such as prefill-decode")
    known = {role.name for role in spec.roles}
    for at, name in enumerate(each.roles):
        if name not in known:
            yield FieldError(f"{path}.roles[{at}]", name, "there is no role of this name")
        if name in each.roles[:at]:
            yield FieldError(f"{path}.roles[{at}]", name, "is named twice")
    if len(set(each.roles)) < 2:
        yield FieldError(f"{path}.roles", None, "must name at least two roles")
    kind = type_of(each)
    if kind not in TYPES:
        yield FieldError(f"{path}.type", kind, f"must be {' or '.join(TYPES)}")
    elif kind == ROLLING_UPDATE:
        yield from _rolling_update(spec, each, path)
    else:
        yield from _affinity(spec, each, path)


def _rolling_update(spec: RbgSpec, each: Coordination, path: str) -> Iterator[FieldError]:
    strategy, typed = each.strategy, each.strategy.rolling_update
    if strategy.affinity_scheduling is not None:
        message = f"belongs to a coordination of type {AFFINITY_SCHEDULING}: add one for it"
        yield FieldError(f"{path}.strategy.affinityScheduling", None, message)
    flat = {
        "maxSkew": ("maxSkew", strategy.max_skew),
        "maxUnavailable": ("maxUnavailableRatio", strategy.max_unavailable_ratio),
        "partition": ("partition", strategy.partition),
    }
    in_typed = {
        "maxSkew": typed.max_skew if typed else None,
        "maxUnavailable": typed.max_unavailable if typed else None,
        "partition": typed.partition if typed else None,
    }
    for name, (flat_name, value) in flat.items():
        given = {
            f"{path}.strategy.{flat_name}": value,
            f"{path}.strategy.rollingUpdate.{name}": in_typed[name],
        }
        found = {at: ratio for at, ratio in given.items() if ratio is not None}
        if len(found) == 2:
            message = f"strategy.{flat_name} is set as well: set only one of the two"
            yield FieldError(f"{path}.strategy.rollingUpdate.{name}", None, message)
        for at, ratio in found.items():
            if not is_ratio(ratio):
                yield FieldError(at, ratio, GRAMMAR)
    for role in _members(spec, each):
        if role.strategy is not None:
            index = spec.roles.index(role)
            message = (
                f"the coordination {each.name} updates this role: remove the role's own strategy"
            )
            yield FieldError(f"spec.roles[{index}].{strategy_field(role)}", None, message)


def _ways_forward(spec: RbgSpec, known: Sequence[Coordination]) -> Iterator[FieldError]:
    """Only of new or changed coordinations: scaling a role is never refused for its ratio."""
    for index, each in enumerate(spec.coordination):
        if type_of(each) != ROLLING_UPDATE or each in known:
            continue
        path = f"spec.coordination[{index}].strategy"
        strategy, typed = each.strategy, each.strategy.rolling_update
        given = {
            f"{path}.maxUnavailableRatio": strategy.max_unavailable_ratio,
            f"{path}.rollingUpdate.maxUnavailable": typed.max_unavailable if typed else None,
        }
        for at, ratio in given.items():
            if ratio is not None and is_ratio(ratio):
                yield from _way_forward(spec, each, at, ratio)


def _way_forward(
    spec: RbgSpec, each: Coordination, at: str, ratio: IntOrPercent
) -> Iterator[FieldError]:
    """A Deployment may run one pod more for a while; a pod with an ordinal must go before it comes
    back."""
    typed = at.endswith(".rollingUpdate.maxUnavailable")
    for role in _members(spec, each):
        if role.replicas == 0 or role.kind == DEPLOYMENT:
            continue
        batches = coordination_of(spec, role.name, AFFINITY_SCHEDULING)
        need = batching(batches).ratios.get(role.name, 1) if batches else 1
        replicas = role.replicas or 1
        found = most_unavailable(parse(ratio), replicas)
        if found >= need or (role.replicas is None and parse(ratio)):
            continue
        if typed and need == 1 and parse(ratio):
            continue  # as upstream: one at a time, with a warning
        unit = "one" if need == 1 else f"a batch of {need}"
        least = divide_up(100 * need, replicas)
        message = (
            f"allows {found} of the {replicas} replicas of the role {role.name} to be unavailable, "
            f"too few for an update by {unit}: it must be at least {min(least, 100)}%"
        )
        yield FieldError(at, ratio, message)


def _affinity(spec: RbgSpec, each: Coordination, path: str) -> Iterator[FieldError]:
    path = f"{path}.strategy"
    strategy, rules = each.strategy, batching(each)
    rolling = (strategy.max_skew, strategy.max_unavailable_ratio, strategy.partition)
    if strategy.rolling_update is not None or any(rule is not None for rule in rolling):
        message = (
            f"rules of a {ROLLING_UPDATE} do not apply to {AFFINITY_SCHEDULING}: "
            f"add a coordination of type {ROLLING_UPDATE} for them"
        )
        yield FieldError(path, None, message)
    path = f"{path}.affinityScheduling"
    if not is_label_key(rules.topology_key):
        message = "must be the key of a node label, such as kubernetes.io/hostname"
        yield FieldError(f"{path}.topologyKey", rules.topology_key, message)
    if rules.batch_mode and rules.batch_mode not in (SEQUENTIAL, PARALLEL):
        message = f"must be {SEQUENTIAL} or {PARALLEL}"
        yield FieldError(f"{path}.batchMode", rules.batch_mode, message)
    for name in dict.fromkeys(each.roles):
        if name not in rules.ratios:
            yield FieldError(f"{path}.ratios", None, f"must have a ratio for the role {name}")
    for name, ratio in rules.ratios.items():
        at = f"{path}.ratios[{name}]"
        if name not in each.roles:
            yield FieldError(at, ratio, "the coordination has no role of this name")
        if ratio < 1:
            yield FieldError(at, ratio, "must be at least 1")
    for role in _members(spec, each):
        ratio = rules.ratios.get(role.name, 0)
        if ratio > 0 and role.replicas is not None and role.replicas % ratio:
            message = f"does not divide the {role.replicas} replicas of the role"
            yield FieldError(f"{path}.ratios[{role.name}]", ratio, message)


def _members(spec: RbgSpec, each: Coordination) -> list[Role]:
    return [role for role in spec.roles if role.name in each.roles]


def _overlaps(spec: RbgSpec) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, each in enumerate(spec.coordination):
        if each.name in names:
            path = f"spec.coordination[{index}].name"
            yield FieldError(path, each.name, "another coordination has this name")
        names.add(each.name)
    for kind in TYPES:
        first: dict[str, str] = {}
        for each in of_type(spec, kind):
            index = spec.coordination.index(each)
            for at, name in enumerate(each.roles):
                other = first.setdefault(name, each.name)
                if other != each.name:
                    path = f"spec.coordination[{index}].roles[{at}]"
                    message = f"the role is already in the coordination {other} of type {kind}"
                    yield FieldError(path, name, message)
