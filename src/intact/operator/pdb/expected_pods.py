"""How many pods the controllers of a budget's pods want together.

The controllers are found as Kubernetes' own disruption controller finds them, with its messages:
- a ReplicaSet stands for its Deployment, if it has one,
- any other kind must have a scale subresource,
- a controller that does not exist, or whose name another object has by now, is an error.
Scales come from the stores; the API server is asked only for those that are not in a store (yet).
"""

from intact.budget.pdb.pod_counts import PodCounts
from intact.kube.store import Store
from intact.model.meta import OwnerReference, api_group
from intact.model.pod import Pod
from intact.model.pod_state import controller_of
from intact.model.workload import Workload
from intact.operator.watch.kinds import GroupKind
from intact.operator.watch.owners import Workloads

_REPLICA_SET: GroupKind = ("apps", "ReplicaSet")
_DEPLOYMENT: GroupKind = ("apps", "Deployment")
# ReplicaSets are in `apps` today; owner references may still name the old group.
_OLD_GROUP = "extensions"
_NOT_SCALED = {("", "Node"): "nodes", ("", "Pod"): "pods"}


class NotCounted(Exception):
    """It is unknown how many pods a budget should have: nothing may be evicted."""


async def expected_pods(
    counts: PodCounts, namespace: str, workloads: Workloads, pods: Store[Pod]
) -> int:
    scales: dict[str, int] = {}
    for uid, reference in list(counts.controllers.items()):
        found = await _scale_of(reference, namespace, workloads)
        if found is None:
            name = next(
                (
                    pod.metadata.name
                    for pod in pods.by_index("owner", uid)
                    if pod.metadata.uid in counts
                ),
                "",
            )
            raise NotCounted(f'found no controllers for pod "{name}"')
        scales[found[0]] = found[1]
    return sum(scales.values())


async def _scale_of(
    reference: OwnerReference, namespace: str, workloads: Workloads
) -> tuple[str, int] | None:
    """The UID of the controller that counts, and how many pods it wants."""
    if reference.api_version.count("/") > 1:
        raise NotCounted(f"unexpected GroupVersion string: {reference.api_version}")
    group, kind = api_group(reference.api_version), reference.kind
    if group == _OLD_GROUP and kind == "ReplicaSet":
        group = "apps"
    key = (group, kind)
    if key not in workloads.reflectors:
        if plural := _NOT_SCALED.get(key):
            raise NotCounted(f"{plural} does not implement the scale subresource")
        if await workloads.discover(group, kind, reference.api_version) is None:
            raise NotCounted(f'no matches for kind "{kind}" in version "{reference.api_version}"')
    if not workloads.has_scale(key):
        name = workloads.reflectors[key].resource.full_name
        raise NotCounted(f"{name} does not implement the scale subresource")
    if not workloads.reflectors[key].resource.namespaced:
        return None  # it would be asked for in the namespace of the pod
    found = workloads.find(key, namespace, reference.name)
    if found is None or found.metadata.uid != reference.uid:
        asked = await workloads.ask_scale(key, namespace, reference.name)
        return asked if asked is not None and asked[0] == reference.uid else None
    if key == _REPLICA_SET:
        deployment = _deployment_of(found, namespace, workloads)
        if deployment is not None:
            return deployment.metadata.uid, await workloads.scale(_DEPLOYMENT, deployment)
    return found.metadata.uid, await workloads.scale(key, found)


def _deployment_of(replica_set: Workload, namespace: str, workloads: Workloads) -> Workload | None:
    above = controller_of(replica_set)
    if above is None or above.kind != "Deployment":
        return None
    if api_group(above.api_version) not in ("apps", _OLD_GROUP):
        return None
    found = workloads.find(_DEPLOYMENT, namespace, above.name)
    return found if found is not None and found.metadata.uid == above.uid else None
