"""What annotations say."""

import pytest

from intact.sandbox.kubelet.annotations import TERMINATION_DELAY, UNREADY, is_set, seconds


def pod(**annotations: str) -> dict[str, object]:
    return {"metadata": {"annotations": {f"devcluster.intact.dev/{k}": v for k, v in annotations.items()}}}  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5s", 5), ("250ms", 0.25), ("1.5m", 90), ("1h", 3600), ("5", None), ("s", None), ("", None)],
)
def test_a_duration(text: str, expected: float | None) -> None:
    assert seconds(pod(**{"termination-delay": text}), TERMINATION_DELAY) == expected


def test_a_switch_is_on_if_it_is_true() -> None:
    assert is_set(pod(unready="true"), UNREADY)
    assert not is_set(pod(unready="false"), UNREADY)
    assert not is_set({"metadata": {}}, UNREADY)
    assert seconds({"metadata": {}}, TERMINATION_DELAY) is None
