"""The kind LeaderWorkerSet: what it fills in, and what a set asks for."""

from dataclasses import dataclass

from intact.budget.pdb.group_sources import LWS_GROUP_KEY, LWS_NAME, LWS_WORKER_INDEX
from intact.kube.resources import untyped
from intact.rollout import replicas
from intact.sandbox.api.kinds import Kind, Scale
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.amounts import rounded_down, rounded_up

LEADER_WORKER_SETS = untyped(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
NAME, GROUP_KEY, WORKER_INDEX = LWS_NAME, LWS_GROUP_KEY, LWS_WORKER_INDEX
GROUP_INDEX = replicas.GROUP_INDEX
SIZE = "leaderworkerset.sigs.k8s.io/size"
REPLICAS = "leaderworkerset.sigs.k8s.io/replicas"
REVISION = "leaderworkerset.sigs.k8s.io/template-revision-hash"
LEADER_NAME = "leaderworkerset.sigs.k8s.io/leader-name"
EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"

RECREATE = "RecreateGroupOnPodRestart"
LEADER_READY = "LeaderReady"


def _default(each: Json) -> None:
    spec = each.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("startupPolicy", "LeaderCreated")
    spec.setdefault("networkConfig", {}).setdefault("subdomainPolicy", "Shared")
    template = spec.setdefault("leaderWorkerTemplate", {})
    template.setdefault("size", 1)
    template.setdefault("restartPolicy", RECREATE)
    strategy = spec.setdefault("rolloutStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    rolling = strategy.setdefault("rollingUpdateConfiguration", {})
    for name, value in (("maxUnavailable", 1), ("maxSurge", 0), ("partition", 0)):
        rolling.setdefault(name, value)


KIND = Kind(
    LEADER_WORKER_SETS.group,
    LEADER_WORKER_SETS.version,
    LEADER_WORKER_SETS.plural,
    LEADER_WORKER_SETS.kind,
    status=True,
    scale=Scale(selector="status.hpaPodSelector"),
    default=_default,
    short_names=("lws",),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a set asks for, whether or not the server has filled in its defaults."""

    replicas: int
    size: int
    recreates: bool
    """A pod that ends or restarts takes its group with it."""
    leader_first: bool
    """Workers are made once their leader is ready."""
    unavailable: int
    surge: int
    partition: int


def wanted(each: Json) -> Wanted:
    spec = each["spec"]
    template = spec["leaderWorkerTemplate"]
    rolling = (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
    count = spec.get("replicas", 1)
    return Wanted(
        replicas=count,
        size=template.get("size", 1),
        recreates=template.get("restartPolicy", RECREATE) == RECREATE,
        leader_first=spec.get("startupPolicy") == LEADER_READY,
        unavailable=rounded_down(rolling.get("maxUnavailable", 1), count),
        surge=min(rounded_up(rolling.get("maxSurge", 0), count), count),
        partition=rolling.get("partition", 0),
    )
