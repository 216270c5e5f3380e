"""The ledger of a PodDisruptionBudget that counts groups: one JSON text in an annotation."""

from intact.model.base import View


class GroupRecord(View):
    """An eviction that was admitted; `status.disruptedPods` has its time."""

    uid: str = ""
    """Of the pod that the gate knew by this name."""
    group: str = ""
    version: str = ""
    """The resource version of the pod that the gate looked at."""


class GroupLedger(View):
    pods: dict[str, GroupRecord] = {}
    """By name, as `status.disruptedPods`."""
    unavailable: dict[str, int] = {}
    """Groups with pods that are below their need: healthy pods left."""
    let_go: dict[str, int] = {}
    """Those of the unavailable groups that an eviction made so: pods that are not ready. All their
    pods stay free until the group is available again, whatever happens to other groups: a drain can
    go on."""
    surplus: dict[str, int] = {}
    """Healthy pods above the need, of groups that have such pods."""
    needs: dict[int, int] = {}
    """How many available groups have which need."""
    proven: list[int] = []
    """Needs for which a group has had the pods, ready or not, under these rules."""
    absent: dict[str, str] = {}
    """Groups without any pod that are expected back, and since when."""
    allowed: int = 0
    available: int = 0
    desired: int = 0
    expected: int = 0
    leaving: str = ""
    """When the budget was closed because it is to stop counting groups."""
    seen: str = ""
    """The latest resource version of the pods that the last recount counted."""
    rules: str = ""
    """The budget and the rules that the last recount was for."""
