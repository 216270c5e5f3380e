"""Pins evictions to the pod that they are about.

The API server evicts by name. While the gate decides, another pod may come under that name, as the
pods of a StatefulSet do, and go without a record. So a mutating webhook puts the UID of the pod
into each Eviction that has none, before the gate sees it: the API server then refuses to delete any
other pod.
"""

import msgspec

from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import PODS
from intact.model.admission import AdmissionResponse, Eviction, read_eviction, read_request
from intact.operator.webhook import probe
from intact.operator.webhook.responses import ALLOWED, Operations, patched, undecided

PINNED = "intact.dev/pinned"
"""The annotation of an eviction that this webhook has pinned. The evictor has named no UID, and so
does not expect the conflict that another UID is."""
NO_POD = "intact-no-such-pod"
"""The UID for an eviction of a pod that does not exist. A pod that comes meanwhile has another."""


class Pin:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        eviction = read_eviction(request.object)
        if eviction.uid == probe.UID:
            return patched(_put("/deleteOptions/preconditions/uid", probe.PINNED))
        if eviction.uid:
            return ALLOWED
        if not request.namespace:
            return undecided("The review of this eviction names no namespace.")
        try:
            pod = await self._client.get(PODS, request.name, request.namespace)
        except NotFound:
            uid = NO_POD
        except KubeError as error:
            return undecided(f"Intact cannot read the pod of this eviction: {error}")
        else:
            uid = pod.metadata.uid
        return patched(_marked(eviction) + _pinned(eviction, uid))


def _marked(eviction: Eviction) -> Operations:
    if not eviction.metadata.annotations:
        return _put("/metadata/annotations", {PINNED: "true"})
    return _put(f"/metadata/annotations/{PINNED.replace('/', '~1')}", "true")


def _pinned(eviction: Eviction, uid: str) -> Operations:
    options = eviction.delete_options
    if options is None:
        return _put("/deleteOptions", {"preconditions": {"uid": uid}})
    if options.preconditions is None:
        return _put("/deleteOptions/preconditions", {"uid": uid})
    return _put("/deleteOptions/preconditions/uid", uid)


def _put(path: str, value: object) -> Operations:
    return [{"op": "add", "path": path, "value": value}]
