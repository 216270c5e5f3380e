"""Namespace, Node and Karpenter's NodeClaim: what pods are in, and what they run on."""

from intact.model.base import View
from intact.model.meta import ObjectMeta, OwnerReference, api_group

KARPENTER = "karpenter.sh"


class NamespaceStatus(View):
    phase: str = ""


class Namespace(View):
    metadata: ObjectMeta
    status: NamespaceStatus = NamespaceStatus()


class NodeClaim(View):
    metadata: ObjectMeta


def claim_of(meta: ObjectMeta) -> OwnerReference | None:
    """What refers to the NodeClaim that Karpenter made a node from."""
    for owner in meta.owner_references:
        if api_group(owner.api_version) == KARPENTER and owner.kind == "NodeClaim":
            return owner
    return None


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View):
    unschedulable: bool = False
    taints: list[Taint] = []


class NodeCondition(View):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class NodeStatus(View):
    conditions: list[NodeCondition] = []


class Node(View):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)
