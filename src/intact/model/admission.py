"""AdmissionReview, of admission.k8s.io/v1: what the API server asks and what Intact answers."""

import msgspec

from intact.model.base import View
from intact.model.status import Status

NULL = msgspec.Raw(b"null")


class GroupVersionKind(View):
    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(View):
    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(View):
    username: str = ""
    groups: list[str] = []


class AdmissionRequest(View):
    """A request whose objects stay raw until their type is known. A missing object is `null`."""

    uid: str
    operation: str = ""
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = UserInfo()
    dry_run: bool = False
    options: msgspec.Raw = NULL
    object: msgspec.Raw = NULL
    old_object: msgspec.Raw = NULL


_REQUEST = msgspec.json.Decoder(AdmissionRequest)


def read_request(raw: msgspec.Raw) -> AdmissionRequest:
    """Raises `msgspec.DecodeError` if the request has another shape."""
    return _REQUEST.decode(raw)


class AdmissionResponse(View):
    allowed: bool
    uid: str = ""
    """Set by the webhook server, which sends the answer."""
    status: Status | None = None
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}
    """For the audit log of the API server, which puts the webhook's name before each key."""
    patch: str = ""
    """A JSON patch in base64."""
    patch_type: str = ""


class Preconditions(View):
    uid: str | None = None


class DeleteOptions(View):
    dry_run: list[str] | None = None
    preconditions: Preconditions | None = None


class EvictionMeta(View):
    annotations: dict[str, str] | None = None


class Eviction(View):
    """Eviction, of policy/v1: what its admission needs of it."""

    metadata: EvictionMeta = EvictionMeta()
    delete_options: DeleteOptions | None = None

    @property
    def uid(self) -> str:
        """The UID of the pod that it is pinned to, or empty."""
        options = self.delete_options
        return (options.preconditions.uid or "") if options and options.preconditions else ""

    @property
    def is_dry_run(self) -> bool:
        """The body asks for a dry run, whatever the query says."""
        return bool(self.delete_options and self.delete_options.dry_run)


_EVICTION = msgspec.json.Decoder(Eviction)


def read_eviction(raw: msgspec.Raw) -> Eviction:
    """Raises `msgspec.DecodeError` if it has another shape."""
    return _EVICTION.decode(raw)
