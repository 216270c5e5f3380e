"""Which budgets can never let a unit go."""

import msgspec
import pytest

from intact.budget.pub.never_allows import never_allows
from intact.model.pub import PubSpec
from tests.support.pub_cases import SELECTOR, Json, groups

GROUPS = groups()["podGroupPolicy"]


def spec(**fields: object) -> PubSpec:
    body: Json = {"selector": SELECTOR, **fields}
    return msgspec.convert(body, PubSpec)


@pytest.mark.parametrize(
    ("found", "total", "why"),
    [
        (spec(maxUnavailable=0), None, "maxUnavailable is 0: no pod can ever go"),
        (spec(maxUnavailable="0%"), 5, "maxUnavailable is 0%: no pod"),
        (spec(minAvailable="100%"), None, "minAvailable is 100%: no pod"),
        (spec(minAvailable="100%", podGroupPolicy=GROUPS), None, "no group can ever go"),
        (spec(minAvailable=3), 3, "minAvailable requires 3 pods and there are 3"),
        (spec(minAvailable=4), 3, "minAvailable requires 4 pods and there are 3"),
        (spec(minAvailable="1%"), 1, "minAvailable requires 1 pods and there is 1"),
        (spec(minAvailable="99%"), 50, "minAvailable requires 50 pods"),
        (spec(maxUnavailable=1, minAvailable=3, podGroupPolicy=GROUPS), 3, "3 groups"),
        # A total that is not known, or nothing to hold.
        (spec(minAvailable=3), None, ""),
        (spec(minAvailable=3), 0, ""),
        # One can go.
        (spec(minAvailable=2), 3, ""),
        (spec(minAvailable="90%"), 20, ""),
        (spec(maxUnavailable=1), 1, ""),
        (spec(maxUnavailable="1%"), 1, ""),
        (spec(maxUnavailable=1, minAvailable="100%"), 3, ""),  # in pods, maxUnavailable wins
    ],
)
def test_never_allows(found: PubSpec, total: int | None, why: str) -> None:
    said = never_allows(found, total)
    assert why in said
    assert bool(said) == bool(why)
