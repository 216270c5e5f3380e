"""Objects for tests of findings: budgets and pods as plain dicts, drawn as a picture."""

from typing import Any

import msgspec

from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod
from intact.model.pub import PodUnavailableBudget
from intact.model.scheduling import PodGroup
from intact.picture.findings.facts import Facts, Subject, subjects
from intact.picture.findings.finding import Finding
from intact.picture.objects import Objects
from intact.picture.picture import draw
from tests.support.objects import Json

SELECTOR = {"matchLabels": {"app": "web"}}
WORKLOAD = {"intact.dev/budget-scope": "Workload"}
LWS = "leaderworkerset.sigs.k8s.io"


def pdb(name: str = "web", *, status: Json | None = None, **given: Any) -> PodDisruptionBudget:
    """`labels`, `annotations` and fields of the spec; it selects `app: web`."""
    return msgspec.convert(_budget(name, status, given), PodDisruptionBudget)


def pub(name: str = "web", *, status: Json | None = None, **given: Any) -> PodUnavailableBudget:
    return msgspec.convert(_budget(name, status, given), PodUnavailableBudget)


def _budget(name: str, status: Json | None, given: Json) -> Json:
    metadata: Json = {"name": name, "namespace": "apps", "uid": name, "generation": 1}
    for key in ("labels", "annotations", "namespace"):
        if key in given:
            metadata[key] = given.pop(key)
    whole: Json = {"selector": SELECTOR} | given
    spec = {key: value for key, value in whole.items() if value is not None}
    return {"metadata": metadata, "spec": spec, "status": status or {"observedGeneration": 1}}


def pods(
    number: int,
    name: str = "web",
    *,
    owner: str = "ReplicaSet",
    namespace: str = "apps",
    **more: Any,
) -> list[DetailedPod]:
    """So many pods with the label `app: web`, and others."""
    references = [
        {"apiVersion": "apps/v1", "kind": owner, "name": name, "uid": name, "controller": True}
    ]
    labels = {"app": "web"} | more.get("labels", {})
    return [
        msgspec.convert(
            {
                "metadata": {
                    "name": f"{name}-{index}",
                    "namespace": namespace,
                    "uid": f"{name}-{index}",
                    "labels": labels,
                    "annotations": more.get("annotations", {}),
                    "ownerReferences": references if owner else [],
                },
                "spec": more.get("spec", {}),
            },
            DetailedPod,
        )
        for index in range(number)
    ]


def set_pods(groups: int, size: int, name: str = "llm") -> list[DetailedPod]:
    """Those of a LeaderWorkerSet."""
    return [
        pod
        for group in range(groups)
        for pod in pods(
            size,
            f"{name}-{group}",
            labels={
                f"{LWS}/name": name,
                f"{LWS}/group-key": f"{name}-{group}",
                f"{LWS}/group-index": str(group),
            },
            annotations={f"{LWS}/size": str(size)},
        )
    ]


def facts(*given: Any, intact: bool | None = None, **more: Any) -> Facts:
    """Of budgets, pods and PodGroups, of which some may be in lists."""
    flat = [one for each in given for one in (each if isinstance(each, list) else [each])]

    def of(kind: type) -> list[Any]:
        return [one for one in flat if isinstance(one, kind)]

    objects = Objects(
        pods=of(DetailedPod),
        pdbs=of(PodDisruptionBudget),
        pubs=of(PodUnavailableBudget),
        pod_groups=of(PodGroup),
        intact=intact,
    )
    return Facts(draw(objects), **{"live": False, **more})


def subject(*given: Any, **more: Any) -> Subject:
    """The only budget."""
    [found] = subjects(facts(*given, **more))
    return found


def codes(findings: Any) -> list[tuple[str, str]]:
    """Code and severity of each."""
    found: list[Finding] = list(findings)
    return [(one.code, str(one.severity)) for one in found]
