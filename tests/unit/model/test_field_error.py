"""What is wrong with one field, as the API server writes it."""

import pytest

from intact.model.field_error import FieldError


@pytest.mark.parametrize(
    ("value", "body"),
    [
        (3, "Invalid value: 3: must be less than 2"),
        ("3", 'Invalid value: "3": must be less than 2'),
        ({"a": None}, 'Invalid value: {"a": null}: must be less than 2'),
        (None, "must be less than 2"),
    ],
)
def test_an_error_shows_the_value_that_was_given(value: object, body: str) -> None:
    error = FieldError("spec.size", value, "must be less than 2")
    assert error.body == body
    assert str(error) == f"spec.size: {body}"
