"""Fields of the upstream API (sgl-project/rbg, v1alpha1) that mean nothing to Intact.

The CRD knows them, so that the API server does not call them unknown. A field whose loss would
change what a service does is refused, with what to do instead. A field that upstream itself ignores
for these workloads, or whose loss changes no result, is accepted with a warning.

| Intact | field |
|---|---|
| refuses | `podGroupPolicy`, `engineRuntimes`, `components`, `strategy.scaling`, `nodePort` |
| refuses | `restartPolicy: RecreateRBGOnPodRestart`, `rollingUpdate.type: InPlaceOnly` |
| warns | `rollingUpdate.type: InPlaceIfPossible`, `inPlaceUpdateStrategy` |
| warns | `maxSurge` of a StatefulSet; a typed `maxUnavailable` of less than one replica |
"""

from collections.abc import Iterator

from intact.model.field_error import FieldError
from intact.model.rbg import LEADER_WORKER_SET, NO_RESTART, STATEFUL_SET, RbgSpec, Role
from intact.rollout.coordinations import ROLLING_UPDATE, of_type
from intact.rollout.ratios import is_ratio, most_unavailable, parse

RECREATE_REPLICA = "RecreateRoleInstanceOnPodRestart"
_RECREATE_ALL = "RecreateRBGOnPodRestart"
_RECREATES = ("", "Recreate", "RecreatePod")
_IN_PLACE_IF_POSSIBLE = "InPlaceIfPossible"


def refusals(spec: RbgSpec) -> Iterator[FieldError]:
    """What Intact cannot do, and does not pretend to."""
    if policy := spec.pod_group_policy:
        message = (
            "Intact creates no PodGroups: create one yourself and name it in the templates, or "
            "remove the policy"
        )
        yield FieldError("spec.podGroupPolicy", next(iter(policy)), message)
    for index, role in enumerate(spec.roles):
        yield from _of_role(role, f"spec.roles[{index}]")
    for index, each in enumerate(spec.coordination):
        if each.strategy.scaling is not None:
            message = (
                "Intact does not scale roles in steps: remove it, or use affinityScheduling to "
                "start the roles in batches"
            )
            path = f"spec.coordination[{index}].strategy.scaling"
            yield FieldError(path, each.strategy.scaling or None, message)


def _of_role(role: Role, path: str) -> Iterator[FieldError]:
    for index, runtime in enumerate(role.engine_runtimes):
        message = (
            "Intact has no ClusterEngineRuntimeProfiles: put the containers of the profile into "
            "the template"
        )
        at = f"{path}.engineRuntimes[{index}].profileName"
        yield FieldError(at, runtime.get("profileName"), message)
    for index, component in enumerate(role.components):
        message = "components belong to an InstanceSet: use template, or leaderWorkerSet"
        yield FieldError(f"{path}.components[{index}].name", component.get("name"), message)
    yield from _restart_policy(role, f"{path}.restartPolicy")
    for index, port in enumerate(role.service_ports):
        if port.node_port:
            message = "the role's Service is headless: it has no node ports"
            yield FieldError(f"{path}.servicePorts[{index}].nodePort", port.node_port, message)
    rolling = role.rollout_strategy.rolling_update if role.rollout_strategy else None
    if rolling is not None and rolling.type not in (*_RECREATES, _IN_PLACE_IF_POSSIBLE):
        message = f"Intact always recreates pods: must be {_IN_PLACE_IF_POSSIBLE} or RecreatePod"
        yield FieldError(f"{path}.rolloutStrategy.rollingUpdate.type", rolling.type, message)


def _restart_policy(role: Role, path: str) -> Iterator[FieldError]:
    policy = role.restart_policy
    if policy == _RECREATE_ALL:
        message = (
            "Intact does not recreate all roles when one pod restarts: must be "
            f"{NO_RESTART} or {RECREATE_REPLICA}"
        )
        yield FieldError(path, policy, message)
    elif policy not in ("", NO_RESTART, RECREATE_REPLICA):
        yield FieldError(path, policy, f"must be {NO_RESTART} or {RECREATE_REPLICA}")


def restart_policy(role: Role) -> str:
    """Of the role's LeaderWorkerSet, in its own words."""
    recreates = role.restart_policy != NO_RESTART or role.kind != LEADER_WORKER_SET
    return "RecreateGroupOnPodRestart" if recreates else NO_RESTART


def warnings(spec: RbgSpec) -> list[str]:
    """What Intact accepts and does not act upon."""
    return [*_without_effect(spec), *_less_than_one(spec)]


def _without_effect(spec: RbgSpec) -> Iterator[str]:
    for index, role in enumerate(spec.roles):
        rolling = role.rollout_strategy.rolling_update if role.rollout_strategy else None
        if rolling is None:
            continue
        path = f"spec.roles[{index}].rolloutStrategy.rollingUpdate"
        if rolling.max_surge not in (None, 0, "0%") and role.kind == STATEFUL_SET:
            yield f"{path}.maxSurge has no effect: a StatefulSet cannot run more pods than replicas"
        if rolling.type == _IN_PLACE_IF_POSSIBLE:
            yield f"{path}.type has no effect: Intact recreates pods"
        if rolling.in_place_update_strategy:
            yield f"{path}.inPlaceUpdateStrategy has no effect: Intact recreates pods"


def _less_than_one(spec: RbgSpec) -> Iterator[str]:
    for each in of_type(spec, ROLLING_UPDATE):
        typed = each.strategy.rolling_update
        ratio = typed.max_unavailable if typed else None
        if ratio is None or not is_ratio(ratio) or not parse(ratio):
            continue
        index = spec.coordination.index(each)
        path = f"spec.coordination[{index}].strategy.rollingUpdate.maxUnavailable"
        for role in spec.roles:
            replicas = role.replicas if role.name in each.roles else 0
            if replicas and not most_unavailable(parse(ratio), replicas):
                yield (
                    f"{path}: {ratio} of the {replicas} replicas of the role {role.name} is less "
                    "than one: Intact updates one at a time"
                )
