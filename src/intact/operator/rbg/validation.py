"""The admission of RoleBasedGroups: refuses invalid ones, and names the fields.

First by the rules of Intact, then by those of the API server, which is asked by a dry run.
"""

import msgspec

from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.admission import NULL, AdmissionResponse, read_request
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.dry_run import DryRun
from intact.operator.rbg.templates import patch_errors
from intact.operator.webhook.responses import invalid
from intact.rollout.spec.upstream import warnings
from intact.rollout.spec.validation import unworkable, validate

_GROUP = msgspec.json.Decoder(RoleBasedGroup)


class RbgValidation:
    def __init__(self, client: Client) -> None:
        self._dry_run = DryRun(client)

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        group = _GROUP.decode(request.object)
        old = None if request.old_object == NULL else _GROUP.decode(request.old_object)
        known = [] if old is None else list(patch_errors(old))
        errors = [
            *validate(group, old),
            *(error for error in patch_errors(group) if error not in known),
        ]
        if errors:
            return invalid(RBGS, request.name, errors)
        said = [] if old is None else warnings(old.spec)
        new = [each for each in warnings(group.spec) if each not in said]
        if _is_whole(group):  # nothing can be made of one that was invalid before
            before = old if old is not None and _is_whole(old) else None
            found = await self._dry_run.ask(request.namespace, group, before)
            if found.errors:
                return invalid(RBGS, request.name, found.errors)
            new += found.warnings
        return AdmissionResponse(allowed=True, warnings=new)


def _is_whole(group: RoleBasedGroup) -> bool:
    return not unworkable(group) and not list(patch_errors(group))
