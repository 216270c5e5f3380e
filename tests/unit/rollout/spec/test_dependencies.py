import pytest

from intact.rollout.spec.dependencies import find_cycle


@pytest.mark.parametrize(
    ("dependencies", "expected"),
    [
        pytest.param({}, [], id="no roles"),
        pytest.param({"a": ["b"], "b": []}, [], id="a chain"),
        pytest.param({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, [], id="a diamond"),
        pytest.param({"a": ["x"]}, [], id="an unknown role"),
        pytest.param({"a": ["a"]}, ["a"], id="itself"),
        pytest.param({"a": ["b"], "b": ["a"]}, ["a", "b"], id="two"),
        pytest.param({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c"], id="behind a chain"),
    ],
)
def test_roles_that_wait_for_each_other(
    dependencies: dict[str, list[str]], expected: list[str]
) -> None:
    assert find_cycle(dependencies) == expected
