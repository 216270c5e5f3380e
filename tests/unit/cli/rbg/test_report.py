"""RoleBasedGroups in one line each, and as documents."""

from datetime import UTC, datetime

from intact.cli.rbg.report import as_document, rows
from tests.unit.cli.rbg.seen import seen

NOW = datetime(2026, 1, 3, 1, tzinfo=UTC)
NUMBERS = {"llm-a": 1, "llm-b": 2}


def test_a_table_has_a_line_for_each() -> None:
    groups = [(seen(), NUMBERS), (seen(name="b", updated=2, state="Updating"), NUMBERS)]
    assert [line.split() for line in rows(groups, NOW)] == [
        ["NAME", "STATUS", "READY", "UPDATED", "COORDINATION", "AGE"],
        ["llm", "Done", "4/4", "4/4", "-", "2d1h"],
        ["b", "InProgress", "4/4", "2/4", "Updating", "2d1h"],
    ]


def test_a_table_of_all_namespaces_names_them() -> None:
    head, line = rows([(seen(), {})], NOW, namespaces=True)
    assert (head.split()[0], line.split()[0]) == ("NAMESPACE", "ns")


def test_a_wide_table_has_revision_roles_and_message() -> None:
    [head, *lines] = rows(
        [(seen(), NUMBERS), (seen(ready="False"), {}), (seen(stalled="True"), NUMBERS)],
        NOW,
        wide=True,
    )
    assert head.split()[-3:] == ["REVISION", "ROLES", "MESSAGE"]
    assert [line.split()[6:] for line in lines] == [
        ["2", "prefill", "4/4", "-"],
        ["llm-b", "prefill", "4/4", "prefill:", "3", "of", "4", "ready"],
        ["2", "prefill", "4/4", "no", "progress"],
    ]


def test_the_document_of_a_role_based_group() -> None:
    found = as_document(seen(updated=1, state="Waiting", waiting="waits for decode"), NUMBERS)
    [ready, stalled] = found.pop("conditions")
    assert found == {
        "namespace": "ns",
        "name": "llm",
        "standing": "InProgress",
        "exitCode": 3,
        "created": "2026-01-01T00:00:00Z",
        "generation": 1,
        "observedGeneration": 1,
        "paused": False,
        "ready": "4/4",
        "updated": "1/4",
        "coordination": "Waiting",
        "currentRevision": {"name": "llm-a", "number": 1},
        "updateRevision": {"name": "llm-b", "number": 2},
        "roles": [
            {
                "name": "prefill",
                "workload": "StatefulSet",
                "desired": 4,
                "replicas": 4,
                "ready": 4,
                "updated": 1,
                "updatedReady": 1,
                "revision": "abc",
                "state": "Waiting",
                "partition": 0,
                "waitingFor": "decode",
                "since": "2026-01-01T00:00:00Z",
            }
        ],
    }
    assert ready == {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "prefill: 3 of 4 ready",
        "lastTransitionTime": "",
    }
    assert stalled["type"] == "Stalled"


def test_a_document_says_what_is_not_known_as_null() -> None:
    found = as_document(seen(), {})
    assert found["updateRevision"] == {"name": "llm-b", "number": None}
    assert found["roles"][0]["since"] is None
