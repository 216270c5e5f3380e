"""The pods of a StatefulSet: their names, their identity, and the revision that each has."""

from intact.model.workload import ordinal_of
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.pods import pod_of

REVISION_LABEL = "controller-revision-hash"
_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL = "apps.kubernetes.io/pod-index"


def start_of(stateful_set: Json) -> int:
    return int((stateful_set["spec"].get("ordinals") or {}).get("start", 0))


def ordinal(pod: Json, stateful_set: Json) -> int | None:
    return ordinal_of(pod["metadata"]["name"], stateful_set["metadata"]["name"])


def revision_of(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def new_pod(stateful_set: Json, template: Json, revision: str, number: int) -> Json:
    pod = pod_of(template, stateful_set)
    meta, spec = pod["metadata"], pod["spec"]
    name = f"{stateful_set['metadata']['name']}-{number}"
    meta["name"] = name
    identity = {_NAME_LABEL: name, _INDEX_LABEL: str(number), REVISION_LABEL: revision}
    meta["labels"] = {**(meta.get("labels") or {}), **identity}
    spec["hostname"] = name
    if service := stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = service
    claims = [
        claim["metadata"]["name"]
        for claim in stateful_set["spec"].get("volumeClaimTemplates") or ()
    ]
    if claims:
        volumes = [
            {"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}}
            for claim in claims
        ]
        kept = [each for each in spec.get("volumes") or () if each["name"] not in claims]
        spec["volumes"] = volumes + kept
    return pod
