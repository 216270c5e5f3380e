"""What the controllers write, read as plain dicts."""

from intact.kube.resources import untyped

PODS = untyped("", "v1", "pods", "Pod")
NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")
DEPLOYMENTS = untyped("apps", "v1", "deployments", "Deployment")
STATEFUL_SETS = untyped("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = untyped("apps", "v1", "daemonsets", "DaemonSet")
CONTROLLER_REVISIONS = untyped("apps", "v1", "controllerrevisions", "ControllerRevision")
JOBS = untyped("batch", "v1", "jobs", "Job")
REPLICATION_CONTROLLERS = untyped("", "v1", "replicationcontrollers", "ReplicationController")
