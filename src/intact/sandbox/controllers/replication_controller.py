"""ReplicationControllers: ReplicaSets under their old name."""

from intact.sandbox.controllers.replica_set import ReplicaSetController
from intact.sandbox.controllers.resources import REPLICATION_CONTROLLERS


class ReplicationControllerController(ReplicaSetController):
    kind = "replicationcontrollers"
    resource = REPLICATION_CONTROLLERS
    counts_terminating = False
