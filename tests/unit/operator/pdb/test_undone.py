"""What is left of another writer's status write: as a JSON patch."""

from typing import Any

import msgspec

from intact.model.admission import AdmissionRequest
from intact.operator.pdb.undone import mapped, undone

SCOPE = "intact.dev/budget-scope"
META = {"name": "b", "labels": {SCOPE: "Workload"}, "managedFields": [{"manager": "intact"}]}
ALLOWED = {"type": "DisruptionAllowed", "status": "True"}
CONFIGURED = {"type": "BudgetConfigured", "status": "True"}
THEIRS = {"type": "Reviewed", "status": "True"}
STATUS = {"disruptionsAllowed": 2, "conditions": [ALLOWED, CONFIGURED, THEIRS]}


def operations(meta: Any = META, **status: Any) -> dict[str, Any]:
    """By path, of a write that changes these."""
    raw = msgspec.json.encode(
        {
            "uid": "u",
            "oldObject": {"metadata": META, "status": STATUS},
            "object": {"metadata": meta, "status": STATUS | status},
        }
    )
    found = undone(msgspec.json.decode(raw, type=AdmissionRequest))
    plain = msgspec.json.decode(msgspec.json.encode(found))
    return {each["path"]: each.get("value") for each in plain}


def test_numbers_and_intacts_conditions_stay_and_nothing_is_stored() -> None:
    lie = {**ALLOWED, "status": "False"}
    found = operations(disruptionsAllowed=9, conditions=[lie, THEIRS])
    assert found == {"/status": STATUS, "/metadata/managedFields": META["managedFields"]}


def test_conditions_of_others_are_stored_with_their_writer() -> None:
    changed, new = {**THEIRS, "status": "False"}, {"type": "Audited", "status": "True"}
    found = operations(conditions=[new, changed])
    assert found == {
        "/status": STATUS,
        "/status/conditions": [ALLOWED, CONFIGURED, changed, new],
    }
    assert operations(conditions=[])["/status/conditions"] == [ALLOWED, CONFIGURED]


def test_the_scope_does_not_end_by_a_status_write() -> None:
    path = "/metadata/labels/intact.dev~1budget-scope"
    assert operations({**META, "labels": {"x": "y"}})[path] == "Workload"
    assert operations({**META, "labels": {SCOPE: "Pod"}})[path] == "Workload"
    assert "/metadata/managedFields" not in operations({**META, "labels": {}})
    assert path not in operations({**META, "labels": {SCOPE: "PodGroup"}})


def test_mapped_keys_are_set_and_removed_as_a_json_patch_has_them() -> None:
    assert mapped("labels", {}, {"a/b": "1"}) == [
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "add", "path": "/metadata/labels/a~1b", "value": "1"},
    ]
    assert mapped("annotations", {"a": "1", "b": "2"}, {"a": "1", "b": None, "c": None}) == [
        {"op": "remove", "path": "/metadata/annotations/b"}
    ]
