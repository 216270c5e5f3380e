"""The objects that a RoleBasedGroup owns, as they should be. They are applied by the API server, so
other clients may set the fields that are not here."""

from collections.abc import Mapping
from typing import Any

from intact.kube.resources import RBGS, SCALING_ADAPTERS, Resource
from intact.kube.yaml_text import yaml_text
from intact.model.amounts import IntOrPercent, check_amount, resolve
from intact.model.rbg import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    STATEFUL_SET,
    Role,
    RoleBasedGroup,
    RolePort,
    RoleRollingUpdate,
)
from intact.model.role_workload import RoleWorkload
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, WORKLOADS
from intact.operator.rbg.templates import leader_and_worker, pod_template
from intact.rollout.facts import RoleFacts
from intact.rollout.names import (
    AGREED,
    GROUP,
    GROUP_KEY,
    ROLE_SIZE,
    group_key,
    labels,
    role_revision_label,
    selector_labels,
    service_name,
    workload_name,
)
from intact.rollout.orders import WorkloadOrder
from intact.rollout.spec.role_strategy import is_paused, rolling_of
from intact.rollout.spec.service_ports import port_name, port_protocol
from intact.rollout.spec.upstream import restart_policy

Json = dict[str, Any]


def owner_reference(group: RoleBasedGroup) -> Json:
    return {
        "apiVersion": RBGS.api_version,
        "kind": RBGS.kind,
        "name": group.metadata.name,
        "uid": group.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def group_labels(group: RoleBasedGroup) -> dict[str, str]:
    """Labels on what belongs to the RoleBasedGroup and to none of its roles."""
    meta = group.metadata
    return {GROUP: meta.name, GROUP_KEY: group_key(meta.namespace, meta.name)}


def _object(
    resource: Resource[Any], group: RoleBasedGroup, name: str, own_labels: dict[str, str]
) -> Json:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": group.metadata.namespace,
            "labels": own_labels,
            "ownerReferences": [owner_reference(group)],
        },
    }


def role_labels(group: RoleBasedGroup, role: str) -> dict[str, str]:
    return labels(group.metadata.namespace, group.metadata.name, role)


def workload(
    group: RoleBasedGroup, order: WorkloadOrder, live: RoleWorkload | None, desired: int
) -> Json:
    """`live` is the existing workload: immutable fields keep its values. Raises `PatchError` if the
    role's patches cannot be applied."""
    role = order.role
    resource = WORKLOADS[role.workload.kind]
    own = {
        **role.labels,
        **role_labels(group, role.name),
        role_revision_label(role.name): order.revision,
    }
    body = _object(resource, group, order.name, own)
    body["metadata"]["annotations"] = {**role.annotations, ROLE_SIZE: str(desired)}
    body["spec"] = {
        STATEFUL_SET: _stateful_set,
        DEPLOYMENT: _deployment,
        LEADER_WORKER_SET: _leader_worker_set,
    }[role.kind](group, order, live)
    return body


def _selector(group: RoleBasedGroup, role: Role) -> Json:
    meta = group.metadata
    return {"matchLabels": selector_labels(meta.namespace, meta.name, role.name)}


def _stateful_set(group: RoleBasedGroup, order: WorkloadOrder, live: RoleWorkload | None) -> Json:
    role, meta = order.role, group.metadata
    rolling = rolling_of(role)
    update: Json = {"partition": _partition(order, rolling)}
    if rolling.max_unavailable is not None:
        update["maxUnavailable"] = rolling.max_unavailable
    return {
        "replicas": order.replicas,
        "serviceName": live.spec.service_name if live else service_name(meta.name, role.name),
        "podManagementPolicy": (
            live.spec.pod_management_policy if live else role.pod_management_policy or "Parallel"
        ),
        "selector": _selector(group, role),
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": update},
        "template": pod_template(meta.namespace, meta.name, role, order.revision, order.labels),
        **_min_ready(role),
    }


def _min_ready(role: Role) -> Json:
    return {} if role.min_ready_seconds is None else {"minReadySeconds": role.min_ready_seconds}


def _partition(order: WorkloadOrder, rolling: RoleRollingUpdate) -> IntOrPercent:
    if order.partition is not None:
        return order.partition
    if is_paused(order.role):
        return order.replicas
    amount = rolling.partition or 0
    if check_amount(amount) is not None:
        return amount  # the API server refuses it, for this role alone
    return resolve(amount, order.replicas)


def _deployment(group: RoleBasedGroup, order: WorkloadOrder, live: RoleWorkload | None) -> Json:
    role, meta = order.role, group.metadata
    rolling = rolling_of(role)
    unavailable = rolling.max_unavailable
    if order.max_unavailable is not None:
        unavailable = order.max_unavailable
    update = {"maxUnavailable": unavailable, "maxSurge": rolling.max_surge}
    given = {name: amount for name, amount in update.items() if amount is not None}
    # A Deployment that is paused before its controller has seen it never gets its first pods.
    paused = is_paused(role) and live is not None and live.status.observed_generation > 0
    strategy: Json = {"type": "RollingUpdate"}
    if given:
        strategy["rollingUpdate"] = given
    return {
        "replicas": order.replicas,
        "selector": _selector(group, role),
        "strategy": strategy,
        "template": pod_template(meta.namespace, meta.name, role, order.revision, order.labels),
        **({"paused": True} if order.paused or paused else {}),
        **_min_ready(role),
    }


def _leader_worker_set(
    group: RoleBasedGroup, order: WorkloadOrder, _live: RoleWorkload | None
) -> Json:
    role, meta = order.role, group.metadata
    rolling = rolling_of(role)
    update: Json = {"partition": _partition(order, rolling)}
    unavailable = rolling.max_unavailable
    if order.max_unavailable is not None:
        unavailable = order.max_unavailable
    if unavailable is not None:
        update["maxUnavailable"] = unavailable
    if rolling.max_surge is not None:
        update["maxSurge"] = rolling.max_surge
    leader, worker = leader_and_worker(
        meta.namespace, meta.name, role, order.revision, order.labels
    )
    sets = role.leader_worker_set
    return {
        "replicas": order.replicas,
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": update},
        "leaderWorkerTemplate": {
            "size": (sets.size if sets else None) or 1,
            "restartPolicy": restart_policy(role),
            "leaderTemplate": leader,
            "workerTemplate": worker,
        },
    }


def service(group: RoleBasedGroup, facts: RoleFacts) -> Json:
    """In front of the role's pods. Pods of a StatefulSet find each other before they are ready."""
    role = facts.role
    body = _object(
        SERVICES,
        group,
        service_name(group.metadata.name, role.name),
        role_labels(group, role.name),
    )
    body["spec"] = {
        "clusterIP": "None",
        "selector": _selector(group, role)["matchLabels"],
    }
    if STATEFUL_SET[1] in _kinds(facts):
        body["spec"]["publishNotReadyAddresses"] = True
    if role.service_ports:
        body["spec"]["ports"] = [_service_port(port) for port in role.service_ports]
    return body


def _service_port(port: RolePort) -> Json:
    found: Json = {
        "name": port_name(port),
        "port": port.port,
        "protocol": port_protocol(port),
    }
    if port.target_port is not None:
        found["targetPort"] = port.target_port
    if port.app_protocol:
        found["appProtocol"] = port.app_protocol
    return found


def _kinds(facts: RoleFacts) -> set[str]:
    """Of its workloads. While it moves from one kind to another, there are several."""
    return {facts.role.workload.kind, *(one.kind for one in facts.others)}


def has_service(facts: RoleFacts) -> bool:
    """A LeaderWorkerSet creates its own Service."""
    return _kinds(facts) != {LEADER_WORKER_SET[1]}


def config_map(group: RoleBasedGroup, roles: Mapping[str, RoleFacts]) -> Json:
    """The addresses of all roles, for all pods: mounted, so that scaling restarts no pod."""
    body = _object(CONFIG_MAPS, group, group.metadata.name, group_labels(group))
    config = {
        "group": {
            "name": group.metadata.name,
            "size": len(group.spec.roles),
            "roles": [role.name for role in group.spec.roles],
        },
        "roles": {
            role.name: _addresses(group.metadata.name, roles[role.name])
            for role in group.spec.roles
        },
    }
    body["data"] = {"config.yaml": yaml_text(config)}
    return body


def _addresses(group: str, facts: RoleFacts) -> Json:
    role, size = facts.role, facts.size
    names = [one.name for one in facts.workloads] or [workload_name(group, role.name)]
    found: list[Json] = []
    if role.kind != DEPLOYMENT:
        found = _instances(group, role, role.workload.kind, names[0], size)
    for other in facts.others:  # they serve until the present kind has taken their place
        if other.kind != DEPLOYMENT[1]:
            found += _instances(group, role, other.kind, other.name, other.replicas)
    if role.kind == DEPLOYMENT:
        return {"size": size, "address": service_name(group, role.name), "instances": found}
    return {"size": size, "instances": found}


def _instances(group: str, role: Role, kind: str, name: str, size: int) -> list[Json]:
    domain = name if kind == LEADER_WORKER_SET[1] else service_name(group, role.name)
    ports = {port_name(port).lower().replace("-", "_"): port.port for port in role.service_ports}
    return [
        {"address": f"{name}-{ordinal}.{domain}", **({"ports": ports} if ports else {})}
        for ordinal in range(size)
    ]


def scaling_adapter(group: RoleBasedGroup, role: Role, replicas: int) -> Json:
    name = workload_name(group.metadata.name, role.name)
    own = role.scaling_adapter.labels if role.scaling_adapter else {}
    body = _object(SCALING_ADAPTERS, group, name, {**own, **role_labels(group, role.name)})
    body["metadata"]["annotations"] = {AGREED: str(replicas)}
    target = {"name": group.metadata.name, "role": role.name}
    body["spec"] = {"replicas": replicas, "scaleTargetRef": target}
    return body
