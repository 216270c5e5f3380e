"""How to delete an object: DeleteOptions, from a body or a query."""

from dataclasses import dataclass, replace

import msgspec

from intact.sandbox.api.failures import (
    FieldError,
    bad_request,
    invalid_options,
    invalid_value,
    precondition_conflict,
    unsupported_value,
)
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, decode, encode
from intact.sandbox.api.routing import Call

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
POLICIES = {"Foreground": FOREGROUND, "Background": "", "Orphan": ORPHAN}
"""The finalizer that each propagation policy asks for."""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace: int | None = None
    propagation: str | None = None
    orphan_dependents: bool | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False
    sent: Json | None = None
    """The options as admission sees them."""

    def at_version(self, version: str) -> "DeleteOptions":
        return replace(self, resource_version=version)


def parse_options(call: Call) -> DeleteOptions:
    """From the body if there is one, else from the query."""
    if call.request.body:
        try:
            sent = decode(call.request.body)
        except msgspec.DecodeError as error:
            raise bad_request(str(error)) from error
        if sent.get("kind", "DeleteOptions") != "DeleteOptions":
            raise bad_request(
                f'no kind "{sent["kind"]}" is registered for version "meta.k8s.io/v1"'
            )
    else:
        sent = _options_of_query(call)
    return read_options(sent)


def _options_of_query(call: Call) -> Json:
    sent: Json = {}
    grace = call.number("gracePeriodSeconds")
    if grace is not None:
        sent["gracePeriodSeconds"] = grace
    if "propagationPolicy" in call.query:
        sent["propagationPolicy"] = call.query["propagationPolicy"]
    if "orphanDependents" in call.query:
        sent["orphanDependents"] = call.query["orphanDependents"] == "true"
    if "dryRun" in call.query:
        sent["dryRun"] = [call.query["dryRun"]]
    return sent


def read_options(sent: Json) -> DeleteOptions:
    errors: list[FieldError] = []
    policy, orphan = sent.get("propagationPolicy"), sent.get("orphanDependents")
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid_value("propagationPolicy", f'"{policy}"', why))
    if policy is not None and policy not in POLICIES:
        errors.append(unsupported_value("propagationPolicy", f'"{policy}"', (*POLICIES, "nil")))
    dry_run = sent.get("dryRun") or []
    if any(value != "All" for value in dry_run):
        errors.append(unsupported_value("dryRun", encode(dry_run).decode(), ("All",)))
    if errors:
        raise invalid_options("DeleteOptions", errors)
    preconditions = sent.get("preconditions") or {}
    shown = {**sent, "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    return DeleteOptions(
        grace=sent.get("gracePeriodSeconds"),
        propagation=policy,
        orphan_dependents=orphan,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=bool(dry_run),
        sent=shown,
    )


def check_preconditions(kind: Kind, obj: Json, options: DeleteOptions) -> None:
    meta = obj["metadata"]
    if options.uid and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated"
        )
        raise precondition_conflict(kind, meta["name"], why)
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({meta['resourceVersion']}). The object might have "
            "been modified"
        )
        raise precondition_conflict(kind, meta["name"], why)
