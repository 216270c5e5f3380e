"""A budget's status carries its ledger as a value, and is stored with the ledger's text."""

import json

import msgspec
import pytest

from intact.model.meta import Condition
from intact.model.pub import (
    UNREADABLE,
    ContainerMark,
    Ledger,
    LedgerRecord,
    PodUnavailableBudget,
    PubStatus,
    read_ledger,
    write_ledger,
)

LEDGER = Ledger(
    pods={
        "uid": LedgerRecord(
            name="p",
            operation="UPDATE",
            at="2026-01-01T12:00:00Z",
            resource_version="7",
            group="g",
            containers={"main": ContainerMark(container_id="c1", wanted="web:2")},
        )
    },
    unavailable_groups=["g"],
    surplus={"h": 2},
    released=["owner"],
    seen="9",
)


def stored_status() -> PubStatus:
    """As it comes from the API server."""
    body = {"unavailableAllowed": 1, "ledger": write_ledger(LEDGER)}
    return msgspec.json.decode(json.dumps(body), type=PubStatus)


OTHER_FIELDS: dict[str, object] = {
    field.name: [] if field.type == list[Condition] else {} if field.type == dict[str, str] else 3
    for field in msgspec.structs.fields(PubStatus)
    if field.name != "ledger_or_text"
}


@pytest.mark.parametrize(("name", "value"), OTHER_FIELDS.items(), ids=OTHER_FIELDS)
@pytest.mark.parametrize("made", ["read", "decided"])
def test_a_status_with_another_field_replaced_keeps_its_ledger(
    made: str, name: str, value: object
) -> None:
    status = stored_status() if made == "read" else PubStatus().with_ledger(LEDGER)
    assert msgspec.structs.replace(status, **{name: value}).ledger == LEDGER


def test_replaced_conditions_keep_an_unreadable_ledger_unreadable() -> None:
    spoilt = msgspec.convert({"ledger": "{"}, PubStatus)
    assert msgspec.structs.replace(spoilt, conditions=[]).ledger is UNREADABLE


def test_a_status_is_stored_with_the_text_of_its_ledger() -> None:
    status = PubStatus(total_replicas=4).with_ledger(LEDGER)
    form = status.stored_form()
    assert form == {"totalReplicas": 4, "ledger": write_ledger(LEDGER)}
    assert msgspec.convert(form, PubStatus) == status


def test_a_ledger_is_stored_under_the_names_of_kubernetes() -> None:
    text = json.loads(write_ledger(LEDGER))
    assert text["unavailableGroups"] == ["g"]
    assert text["pods"]["uid"]["resourceVersion"] == "7"


NO_LEDGERS = ["{", "unwritten", "[]", "null", '{"pods": []}', '{"seen": 7}']


@pytest.mark.parametrize("text", [*NO_LEDGERS, '{"x": ' + "[" * 5000])
def test_a_text_that_is_no_ledger_is_unreadable(text: str) -> None:
    assert read_ledger(text) is UNREADABLE


@pytest.mark.parametrize("value", [{}, {"pods": {}}, None, 7])
def test_a_stored_ledger_that_is_no_text_is_unreadable(value: object) -> None:
    assert msgspec.convert({"ledger": value}, PubStatus).ledger is UNREADABLE


def test_a_budget_without_a_status_has_an_empty_ledger_that_is_readable() -> None:
    budget = msgspec.convert({"metadata": {"name": "b", "namespace": "ns"}}, PodUnavailableBudget)
    assert budget.status.ledger == Ledger()
    assert budget.status.ledger is not UNREADABLE
