"""Whether the webhooks are registered as this release registers them."""

from typing import Any

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, not_asked, ok, warn
from intact.model.listing import listed
from intact.operator.webhook.configuration import (
    DOOR_PATH,
    GATE_PATH,
    MUTATING,
    NAME,
    PDB_STATUS_PATH,
    PIN_PATH,
    PLACE_PATH,
    VALIDATE_PDB_PATH,
    VALIDATE_PUB_PATH,
    VALIDATE_RBG_PATH,
    VALIDATING,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)

Json = dict[str, Any]
LINE = "webhooks"
_PATHS = {
    "pub": (GATE_PATH, PIN_PATH, VALIDATE_PUB_PATH),
    "pdb": (DOOR_PATH, VALIDATE_PDB_PATH, PDB_STATUS_PATH),
    "rbg": (VALIDATE_RBG_PATH, PLACE_PATH),
}
_COMPARED = ("failurePolicy", "objectSelector", "matchConditions", "rules", "sideEffects")


def registered(found: Found) -> list[Line]:
    if error := found.unread.get("webhooks"):
        return [not_asked(LINE, error)]
    lines: list[Line] = []
    paths = [path for each in found.controllers for path in _PATHS.get(each, ())]
    address = UrlAddress("localhost", 443)
    wanted = {
        VALIDATING.kind: (found.validating, validating_configuration(address, b"", (), paths)),
        MUTATING.kind: (found.mutating, mutating_configuration(address, b"", (), paths)),
    }
    number = 0
    for kind, (there, configuration) in wanted.items():
        if not configuration["webhooks"]:
            continue
        if there is None:
            lines.append(fail(LINE, f"the {kind} {NAME} does not exist: the leader registers it"))
            continue
        number += len(there.webhooks or ())
        by_name = {each.get("name", ""): each for each in there.webhooks or ()}
        missing = [
            each["name"] for each in configuration["webhooks"] if each["name"] not in by_name
        ]
        if missing:
            lines.append(fail(LINE, f"the {kind} {NAME} lacks {listed(missing)}"))
        if edited := _edited(by_name, configuration["webhooks"]):
            message = f"the {kind} {NAME} is not as this release registers it: {listed(edited)}"
            lines.append(warn(LINE, message))
    running = ", ".join(found.controllers)
    return lines or [ok(LINE, f"{number} are registered, of the controllers {running}")]


def _edited(there: dict[str, Json], wanted: list[Json]) -> list[str]:
    """`NAME (field)` for each that differs."""
    return [
        f"{each['name']} ({field})"
        for each in wanted
        if each["name"] in there
        for field in _COMPARED
        if each.get(field) != there[each["name"]].get(field)
    ]
