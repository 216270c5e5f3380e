"""The Status object, with which the API server answers a request that fails."""

from intact.model.base import View


class StatusCause(View):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(View):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = []
    retry_after_seconds: int = 0


class Status(View):
    kind: str = "Status"
    api_version: str = "v1"
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0
