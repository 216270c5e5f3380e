"""The ledger of a PodDisruptionBudget that counts groups: one JSON text in an annotation."""

from intact.model.base import View


class GroupRecord(View):
    """An eviction that was admitted; its time stands in `status.disruptedPods`."""

    uid: str = ""
    """Of the pod that had the name, as far as the gate knew."""
    group: str = ""
    version: str = ""
    """The resource version of the pod that the gate looked at."""


class GroupLedger(View):
    pods: dict[str, GroupRecord] = {}
    """By name, as `status.disruptedPods`."""
    unavailable: dict[str, int] = {}
    """Groups that are here and below their need: healthy pods left."""
    surplus: dict[str, int] = {}
    """Healthy pods above the need, of groups that have any."""
    needs: dict[int, int] = {}
    """How many available groups have which need."""
    absent: dict[str, str] = {}
    """Groups without a single pod that are expected back, and since when."""
    allowed: int = 0
    available: int = 0
    desired: int = 0
    expected: int = 0
    seen: str = ""
    """The latest resource version of all pods that the last recount had counted."""
    rules: str = ""
    """Which budget, and which rules, the last recount was for."""
