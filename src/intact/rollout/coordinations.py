"""Reads the coordinations of a RoleBasedGroup, in either of their two forms."""

from collections.abc import Iterator
from dataclasses import dataclass

from intact.model.amounts import IntOrPercent
from intact.model.rbg import AffinityScheduling, Coordination, RbgSpec
from intact.rollout.names import PLACED
from intact.rollout.revisions import hash_of

ROLLING_UPDATE = "RollingUpdate"
AFFINITY_SCHEDULING = "AffinityScheduling"
TYPES = (ROLLING_UPDATE, AFFINITY_SCHEDULING)
SEQUENTIAL = "Sequential"
PARALLEL = "Parallel"
NODE = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class RollingRules:
    """Ratios as the user wrote them; None where the user wrote none."""

    max_skew: IntOrPercent | None
    max_unavailable: IntOrPercent | None
    partition: IntOrPercent | None


def type_of(coordination: Coordination) -> str:
    """The typed form may leave the type out: the strategy that is set says it."""
    if coordination.type:
        return coordination.type
    return AFFINITY_SCHEDULING if coordination.strategy.affinity_scheduling else ROLLING_UPDATE


def rolling_rules(coordination: Coordination) -> RollingRules:
    strategy, typed = coordination.strategy, coordination.strategy.rolling_update
    if typed is None:
        return RollingRules(strategy.max_skew, strategy.max_unavailable_ratio, strategy.partition)
    return RollingRules(
        _either(strategy.max_skew, typed.max_skew),
        _either(strategy.max_unavailable_ratio, typed.max_unavailable),
        _either(strategy.partition, typed.partition),
    )


def _either(flat: IntOrPercent | None, typed: IntOrPercent | None) -> IntOrPercent | None:
    return typed if flat is None else flat


def batching(coordination: Coordination) -> AffinityScheduling:
    return coordination.strategy.affinity_scheduling or AffinityScheduling()


def is_of_nodes(coordination: Coordination) -> bool:
    """Whether its domains are single nodes, which hold one batch each."""
    return batching(coordination).topology_key == NODE


def place_label(coordination: Coordination) -> str:
    """Label on the pods that were given a batch by these very rules."""
    rules = batching(coordination)
    return PLACED + hash_of([coordination.name, rules.topology_key, rules.ratios])


def of_type(spec: RbgSpec, wanted: str) -> Iterator[Coordination]:
    return (each for each in spec.coordination if type_of(each) == wanted)


def coordination_of(spec: RbgSpec, role: str, wanted: str) -> Coordination | None:
    """The coordination of this type that the role is in."""
    return next((each for each in of_type(spec, wanted) if role in each.roles), None)
