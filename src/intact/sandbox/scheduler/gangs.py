"""Gangs: the pods of a PodGroup with `minCount` get nodes together, or none of them does.

| the PodGroup | its pods |
|---|---|
| is not there | wait |
| has fewer pods than `minCount` | wait |
| has them, but not room for so many | wait, all of them |
| otherwise | get nodes; those beyond `minCount` as there is room |

Pods that have a node count towards `minCount`: one pod that comes back completes its gang.
"""

from collections.abc import Callable

from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_groups import POD_GROUPS
from intact.sandbox.api.pod_state import is_finished
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.controller import Key
from intact.sandbox.controllers.pod_groups import group_of


class Gangs:
    """`look` is called with each pod whose gang has changed so that it may get a node now."""

    def __init__(self, api: MemoryApi, look: Callable[[Json], None]) -> None:
        self._look = look
        self._needs: dict[Key, int] = {}
        """What each PodGroup needs: 0 if it is no gang."""
        self._members: dict[Key, dict[str, Json]] = {}
        """The unfinished pods that name a PodGroup, by UID."""
        self._ends = [
            api.follow(POD_GROUPS.full_name, self._group_changed),
            api.follow("pods", self._pod_changed),
        ]

    def end(self) -> None:
        for end in self._ends:
            end()

    def holds(self, key: Key) -> bool:
        """Whether its pods are not even looked at yet."""
        return not self._is_open(key)

    def members(self, key: Key) -> list[str]:
        """The UIDs of its unfinished pods."""
        return list(self._members.get(key, ()))

    def need(self, key: Key) -> int:
        return self._needs.get(key, 0)

    def _is_open(self, key: Key) -> bool:
        return key in self._needs and len(self._members.get(key, ())) >= self._needs[key]

    def _group_changed(self, old: Json | None, new: Json | None) -> None:
        group = new or old
        assert group is not None
        key = group["metadata"]["namespace"], group["metadata"]["name"]
        if new is None:
            del self._needs[key]
            return
        gang = new["spec"]["schedulingPolicy"].get("gang") or {}
        need = gang.get("minCount", 0)
        if self._needs.get(key) != need:
            self._needs[key] = need
            self._open(key)

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        pod = new or old
        assert pod is not None
        key = group_of(pod)
        if key is None:
            return
        members, uid = self._members.setdefault(key, {}), pod["metadata"]["uid"]
        if new is None or is_finished(new):
            members.pop(uid, None)
            if not members:
                del self._members[key]
            return
        is_new = uid not in members
        members[uid] = new
        if is_new and len(members) == self._needs.get(key):
            self._open(key)

    def _open(self, key: Key) -> None:
        if self._is_open(key):
            for member in list(self._members.get(key, {}).values()):
                if not member["spec"].get("nodeName"):
                    self._look(member)
