"""Changes of readiness, as kubelets send them, of pods under several budgets.

Change number N concerns one pod: every pod changes once, then every pod once more. One budget after
the other gets a change, so that changes that follow one another concern different budgets.
"""

from dataclasses import dataclass

from bench.pods import readiness
from bench.pub_setup import all_of, pod_name
from intact.kube.client import Client, PatchType
from intact.kube.resources import untyped

_ALL_PODS = untyped("", "v1", "pods", "Pod")


@dataclass(frozen=True, slots=True)
class ReadinessChanges:
    namespace: str
    budgets: int
    pods_each: int

    @property
    def pods(self) -> int:
        return self.budgets * self.pods_each

    async def send(self, client: Client, first: int, count: int) -> None:
        """Return once the API server has answered all of them."""
        await all_of(range(first, first + count), lambda number: self._send(client, number))

    async def _send(self, client: Client, number: int) -> None:
        turn, place = divmod(number, self.pods)
        await client.patch(
            _ALL_PODS,
            {"status": readiness(turn)},
            pod_name(self._pod_at(place)),
            self.namespace,
            type=PatchType.STRATEGIC,
            subresource="status",
            field_manager="kubelet",
        )

    def unready_after(self, changes: int) -> list[int]:
        """How many pods of each budget are not ready after so many changes from the first on."""
        turns, rest = divmod(changes, self.pods)
        unready = [0] * self.budgets
        for place in range(self.pods):
            if (turns + (place < rest)) % 2:
                unready[self._pod_at(place) // self.pods_each] += 1
        return unready

    def _pod_at(self, place: int) -> int:
        """The number of the pod that is at this place in the order of changes."""
        number, budget = divmod(place, self.budgets)
        return budget * self.pods_each + number
