"""Closes a PodDisruptionBudget before it stops counting groups.

In a budget that counts groups, `disruptionsAllowed` is the pods of whole groups, and the gate picks
which pods go. Without the label the same number would let any pods go until the controller that
counts pods has counted. So the label goes only from a budget whose number is 0: where it is not,
Intact stores 0 first. That gives the budget a new version, so that the API server does not store
the user's change as it is: it applies a patch once more to the new version and asks again; to
another client it answers 409, and the client tries again.

A review only names the budget: what is stored is the budget as the API has it.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from intact.budget.pdb.annotations import annotations_of, ledger_of
from intact.budget.pdb.group_settings import rules_of
from intact.budget.pdb.scope import counts_pods
from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound
from intact.kube.events import reference_to
from intact.kube.resources import PDBS
from intact.model.admission import AdmissionResponse
from intact.model.pdb import PdbMeta, PodDisruptionBudget
from intact.model.times import timestamp
from intact.operator.pdb.status import status_patch
from intact.operator.pdb.status_writer import GROUPS_MANAGER
from intact.operator.webhook.audit import Decision, Finding, Reason, annotated
from intact.operator.webhook.responses import denied


class Leaving:
    def __init__(self, client: Client, *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now

    async def close(
        self, old: PodDisruptionBudget, new: PodDisruptionBudget
    ) -> AdmissionResponse | None:
        """None if the change may be stored, or the API server finds out that it must ask again."""
        if counts_pods(old) or not counts_pods(new) or not old.status.disruptions_allowed:
            return None
        try:
            await self._close(old.metadata)
        except (Conflict, NotFound):
            pass  # the change is made from a version that is not stored any more
        except KubeError as error:
            name = old.metadata.name
            refusal = denied(
                f"The disruption budget {name} cannot stop counting groups now: its "
                f"disruptionsAllowed must be 0 first, and that cannot be stored: {error}"
            )
            reference = reference_to(PDBS, old.metadata)
            return annotated(refusal, [Finding(reference, Decision.DENIED, Reason.UNWRITABLE)])
        return None

    async def _close(self, shown: PdbMeta) -> None:
        """Close the budget that a review shows, if it is stored in that version."""
        old = await self._client.get(PDBS, shown.name, shown.namespace)
        if (old.metadata.uid, old.metadata.resource_version) != (shown.uid, shown.resource_version):
            return
        if counts_pods(old) or not old.status.disruptions_allowed:
            return
        # The rules name the budget that the ledger belongs to, also where it was not counted yet.
        ledger = msgspec.structs.replace(
            ledger_of(old), allowed=0, leaving=timestamp(self._now()), rules=rules_of(old)
        )
        status = msgspec.structs.replace(old.status, disruptions_allowed=0)
        await self._client.patch(
            PDBS,
            status_patch(old, status, annotations_of(ledger)),
            old.metadata.name,
            old.metadata.namespace,
            subresource="status",
            field_manager=GROUPS_MANAGER,
        )
