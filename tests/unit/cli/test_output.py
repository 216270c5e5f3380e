"""Formats of what commands print."""

import json
from datetime import UTC, datetime

import pytest
import yaml

from intact.cli.output import age_of, counted, document

VALUE = {"b": [1, None, "→"], "a": {"text": "long " * 50}}


def test_documents_can_be_read_back_and_keep_their_order() -> None:
    assert json.loads(document(VALUE, "json")) == VALUE
    assert yaml.safe_load(document(VALUE, "yaml")) == VALUE
    assert document(VALUE, "yaml").startswith("b:\n")
    assert "→" in document(VALUE, "json")


@pytest.mark.parametrize(
    ("created", "expected"), [("2026-01-01T00:00:00Z", "24h"), ("", "<unknown>")]
)
def test_an_age_is_counted_from_the_creation(created: str, expected: str) -> None:
    assert age_of(created, datetime(2026, 1, 2, tzinfo=UTC)) == expected


def test_one_round_and_several_rounds() -> None:
    assert [counted(number, "round") for number in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    assert counted(2, "replica stays", "replicas stay") == "2 replicas stay"
