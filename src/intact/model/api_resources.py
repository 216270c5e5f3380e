"""APIResourceList: what the API server serves under one API version."""

from intact.model.base import View


class ApiResource(View):
    """A resource, or a subresource such as `deployments/scale`."""

    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] | None = []

    @property
    def can_be_followed(self) -> bool:
        return {"list", "watch"} <= set(self.verbs or ())


class ApiResourceList(View):
    resources: list[ApiResource] = []
