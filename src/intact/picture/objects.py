"""The objects that a picture is drawn from. Nothing else is known of the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from intact.model.meta import OwnerReference
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Node, NodeClaim
from intact.model.pod import DetailedPod
from intact.model.pub import PodUnavailableBudget
from intact.model.rbg import RoleBasedGroup
from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.model.workload import Workload


@dataclass(frozen=True, slots=True)
class OwnerObject:
    """Something that stands above pods: a ReplicaSet, a Deployment, a LeaderWorkerSet, ..."""

    group: str
    kind: str
    namespace: str
    name: str
    uid: str
    owner_references: Sequence[OwnerReference] = ()
    replicas: int | None = None
    """How many it wants, where it says so."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of its pod template."""


def owner_object(group: str, kind: str, found: Workload) -> OwnerObject:
    meta = found.metadata
    return OwnerObject(
        group=group,
        kind=kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        owner_references=meta.owner_references,
        replicas=found.spec.replicas,
        labels=found.spec.template.metadata.labels,
    )


@dataclass(frozen=True, slots=True)
class Objects:
    """Of one namespace, or of all."""

    pods: Sequence[DetailedPod] = ()
    nodes: Sequence[Node] = ()
    node_claims: Sequence[NodeClaim] = ()
    """Of some of the nodes: where Karpenter writes when a node must be empty."""
    pdbs: Sequence[PodDisruptionBudget] = ()
    pubs: Sequence[PodUnavailableBudget] = ()
    rbgs: Sequence[RoleBasedGroup] = ()
    owners: Sequence[OwnerObject] = ()
    pod_groups: Sequence[PodGroup] = ()
    workloads: Sequence[GangWorkload] = ()
    leader_worker_sets: Sequence[LeaderWorkerSet] = ()
    intact: bool | None = None
    """Whether Intact's webhooks are registered; None if that may not be read."""
    leading: bool | None = None
    """Whether an Intact leads, by its Lease: it is up. None if that is not known."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """What could not be read (`nodes`, `poddisruptionbudgets.policy`), and why. A kind that the
    server does not serve is not among these: there are none of it."""
