"""The server's history of versions, as this process knows it.

Versions only go up, unless the server is restored from a backup. A reader that finds a version
below one that was known before it asked says so here. Then everything that follows the server
begins anew: it may not find out by itself, since the server counts on and may have passed its
version already.

What the server answers to a write is known before a watch brings it. If the server goes back in
between, the watch leads on as if nothing had happened: so the last such answer is kept, and looked
for as well.
"""

from collections.abc import Callable
from typing import Any

from intact.kube.resources import Resource
from intact.model.meta import Object
from intact.model.versions import is_before


class History:
    def __init__(self) -> None:
        self._followers: list[Callable[[], None]] = []
        self._learned: dict[str, Object] = {}

    def learn(self, resource: Resource[Any], obj: Object) -> None:
        """The server has answered with this object, which a watch may bring later."""
        known = self._learned.get(resource.full_name)
        if known is None or not is_before(
            obj.metadata.resource_version, known.metadata.resource_version
        ):
            self._learned[resource.full_name] = obj

    def learned_after(self, resource: Resource[Any], version: str) -> Object | None:
        """The newest object that was learned of, if it is newer than this version."""
        found = self._learned.get(resource.full_name)
        if found is None or not is_before(version, found.metadata.resource_version):
            return None
        return found

    def follow(self, begin_anew: Callable[[], None]) -> Callable[[], None]:
        """Call this when the server has gone back; until the returned function is called."""
        self._followers.append(begin_anew)
        return lambda: self._followers.remove(begin_anew)

    def went_back(self) -> None:
        self._learned.clear()
        for begin_anew in tuple(self._followers):
            begin_anew()
