"""Who the API server takes this process for: by that it knows its own writes."""

import asyncio

from intact.kube.client import Client
from intact.kube.errors import Undecodable
from intact.kube.resources import Resource
from intact.model.admission import UserInfo
from intact.model.base import View


class _Status(View):
    user_info: UserInfo = UserInfo()


class SelfSubjectReview(View):
    """Of authentication.k8s.io/v1; every authenticated user may create one."""

    status: _Status = _Status()


REVIEWS = Resource(
    SelfSubjectReview,
    "authentication.k8s.io",
    "v1",
    "selfsubjectreviews",
    "SelfSubjectReview",
    namespaced=False,
)


class OwnUser:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._name = ""
        self._asking = asyncio.Lock()

    async def name(self) -> str:
        """Asked once. Raises `KubeError` if the API server does not tell."""
        async with self._asking:
            if not self._name:
                found = await self._client.create(REVIEWS, {})
                self._name = found.status.user_info.username
                if not self._name:
                    raise Undecodable("the API server does not tell who this process is")
        return self._name
