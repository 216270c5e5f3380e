"""All that a cluster with LeaderWorkerSets has more than another."""

from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.leader_worker_set.groups import GroupController
from intact.sandbox.controllers.leader_worker_set.identity import give_identities
from intact.sandbox.controllers.leader_worker_set.kind import KIND
from intact.sandbox.controllers.leader_worker_set.sets import LeaderWorkerSetController


def leader_worker_sets(shared: Shared) -> list[Controller]:
    """Serve them. Returns their controllers."""
    shared.api.register(KIND)
    give_identities(shared.api)
    return [LeaderWorkerSetController(shared), GroupController(shared)]
