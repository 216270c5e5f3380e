"""What a drain has done to each pod, in the order in which it was done."""

from collections.abc import Callable
from dataclasses import dataclass

from intact.sandbox.kubectl_drain import Report, Step, What


@dataclass(slots=True)
class PodSteps:
    namespace: str
    name: str
    uid: str
    node: str
    what: What
    why: str = ""
    attempts: int = 0
    """Evictions that were asked for."""


class Steps:
    def __init__(self) -> None:
        self.pods: dict[tuple[str, str, str], PodSteps] = {}
        """By node, namespace and name: kubectl asks for a name."""
        self._attempts: dict[str, int] = {}
        self.on_refused: Callable[[str, Step], None] = lambda _node, _step: None
        """Called with the node that is drained."""

    def of_node(self, node: str) -> Report:
        """Takes the steps of a drain of this node."""

        def step(done: Step) -> None:
            key = (node, done.namespace, done.name)
            known = self.pods.get(key)
            if known is None:
                known = PodSteps(done.namespace, done.name, done.uid, node, done.what)
                self.pods[key] = known
            if done.what is What.EVICTING:
                known.attempts += 1
                self._attempts[done.uid] = self._attempts.get(done.uid, 0) + 1
                return  # the answer tells more
            if done.what is What.REFUSED:
                self.on_refused(node, done)
            known.uid, known.what, known.why = done.uid, done.what, done.why

        return step

    def attempts(self, uid: str) -> int:
        return self._attempts.get(uid, 0)

    def on(self, node: str) -> list[PodSteps]:
        return [each for each in self.pods.values() if each.node == node]

    def stuck(self, is_there: Callable[[str, str, str], bool]) -> list[PodSteps]:
        """The pods that have not gone. `is_there` tells whether a pod is: namespace, name, UID."""
        return [
            each
            for each in self.pods.values()
            if each.what not in (What.GONE, What.IGNORED)
            and (each.what is not What.EVICTED or is_there(each.namespace, each.name, each.uid))
        ]
