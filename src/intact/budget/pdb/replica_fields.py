"""The counters of KEP-5682 as fields of the status, where the API server knows them.

They are in the unit of the budget: groups, or pods if it counts pods.
"""

from msgspec.structs import replace

from intact.model.pdb import PdbStatus

Counters = tuple[int | None, int | None, int | None, int | None]


def with_replicas(
    status: PdbStatus, *, allowed: int, healthy: int, desired: int, expected: int
) -> PdbStatus:
    return replace(
        status,
        disruptions_allowed_replicas=allowed,
        current_healthy_replicas=healthy,
        desired_healthy_replicas=desired,
        expected_replicas=expected,
    )


def as_pods(status: PdbStatus) -> PdbStatus:
    """With the counters of pods in the fields: in a budget that counts pods both are the same."""
    return with_replicas(
        status,
        allowed=status.disruptions_allowed,
        healthy=status.current_healthy,
        desired=status.desired_healthy,
        expected=status.expected_pods,
    )


def replicas_of(status: PdbStatus) -> Counters:
    return (
        status.disruptions_allowed_replicas,
        status.current_healthy_replicas,
        status.desired_healthy_replicas,
        status.expected_replicas,
    )
