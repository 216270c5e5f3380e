"""What the API server says about a resource that it serves."""

import pytest

from intact.model.api_resources import ApiResource


@pytest.mark.parametrize(
    ("verbs", "can"),
    [
        (["get", "list", "watch"], True),
        (["get", "list"], False),
        (["get", "watch"], False),
        ([], False),
        (None, False),
    ],
)
def test_a_resource_is_followed_by_listing_and_watching_it(
    verbs: list[str] | None, can: bool
) -> None:
    assert ApiResource(name="pods", verbs=verbs).can_be_followed is can
