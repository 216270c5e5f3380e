"""The controllers of a cluster, as kube-controller-manager runs them."""

from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.daemon_sets.controller import DaemonSetController
from intact.sandbox.controllers.deployments.controller import DeploymentController
from intact.sandbox.controllers.garbage import GarbageCollector
from intact.sandbox.controllers.jobs.controller import JobController
from intact.sandbox.controllers.namespaces import NamespaceController
from intact.sandbox.controllers.node_lifecycle.pod_gc import PodGarbageController
from intact.sandbox.controllers.node_lifecycle.taint_eviction import TaintEvictionController
from intact.sandbox.controllers.node_lifecycle.taints import NodeTaintController
from intact.sandbox.controllers.replica_set import ReplicaSetController
from intact.sandbox.controllers.replication_controller import ReplicationControllerController
from intact.sandbox.controllers.stateful_set import StatefulSetController


def controllers(shared: Shared) -> list[Controller | GarbageCollector]:
    return [
        DaemonSetController(shared),
        DeploymentController(shared),
        GarbageCollector(shared),
        JobController(shared),
        NamespaceController(shared),
        NodeTaintController(shared),
        PodGarbageController(shared),
        ReplicaSetController(shared),
        ReplicationControllerController(shared),
        StatefulSetController(shared),
        TaintEvictionController(shared),
    ]
