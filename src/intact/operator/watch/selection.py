"""Which namespaces PodUnavailableBudgets hold pods in, by the labels of the namespaces."""

from typing import Any

from intact.budget.pub.conditions import EXEMPT
from intact.budget.selectors import Selector
from intact.kube.store import Store
from intact.model.meta import LabelSelector
from intact.model.places import Namespace

EVERYWHERE = LabelSelector()


class Selection:
    def __init__(self, selector: LabelSelector, namespaces: Store[Namespace]) -> None:
        self._selector = Selector(selector)
        self._namespaces = namespaces

    def selects(self, namespace: Namespace) -> bool:
        meta = namespace.metadata
        return meta.name not in EXEMPT and self._selector.selects(meta.labels)

    def has(self, name: str) -> bool:
        """A namespace that has not been seen yet counts as one that is selected."""
        found = self._namespaces.get("", name)
        return found is None or self.selects(found)


def requirements(selector: LabelSelector) -> list[dict[str, Any]]:
    """As a webhook registration has them."""
    return [
        {"key": each.key, "operator": each.operator}
        | ({"values": list(each.values)} if each.values else {})
        for each in selector.match_expressions
    ]
