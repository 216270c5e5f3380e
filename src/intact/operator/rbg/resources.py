"""The kinds of objects that a RoleBasedGroup owns."""

from typing import Any

from intact.kube.resources import SCALING_ADAPTERS, Resource
from intact.model.pod import RolePod
from intact.model.role_workload import ConfigMap, ControllerRevision, RoleWorkload, Service

ROLE_PODS = Resource(RolePod, "", "v1", "pods", "Pod")
STATEFUL_SETS = Resource(RoleWorkload, "apps", "v1", "statefulsets", "StatefulSet")
DEPLOYMENTS = Resource(RoleWorkload, "apps", "v1", "deployments", "Deployment")
LEADER_WORKER_SETS = Resource(
    RoleWorkload, "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
WORKLOADS = {each.kind: each for each in (STATEFUL_SETS, DEPLOYMENTS, LEADER_WORKER_SETS)}
SERVICES = Resource(Service, "", "v1", "services", "Service")
CONFIG_MAPS = Resource(ConfigMap, "", "v1", "configmaps", "ConfigMap")
REVISIONS = Resource(ControllerRevision, "apps", "v1", "controllerrevisions", "ControllerRevision")
OWNED: tuple[Resource[Any], ...] = (
    *WORKLOADS.values(),
    SERVICES,
    CONFIG_MAPS,
    REVISIONS,
    SCALING_ADAPTERS,
)
