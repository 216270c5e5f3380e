"""The ledger as it is kept in an annotation: small, and with numbers as keys."""

import msgspec

from intact.model.group_ledger import GroupLedger, GroupRecord


def test_a_ledger_is_written_without_what_it_does_not_say() -> None:
    ledger = GroupLedger(
        pods={"x": GroupRecord(uid="u", group="g")}, needs={3: 2}, allowed=1, seen="7"
    )
    text = msgspec.json.encode(ledger)
    assert msgspec.json.decode(text) == {
        "pods": {"x": {"uid": "u", "group": "g"}},
        "needs": {"3": 2},
        "allowed": 1,
        "seen": "7",
    }
    assert msgspec.json.decode(text, type=GroupLedger) == ledger
