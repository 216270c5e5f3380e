"""The events of the disruption controller, with the reasons and words of Kubernetes' own.

Kubernetes' own controller records most of them again at every recount. Intact records an event when
what it says begins, and again only after that has ended or the text differs. What is wrong with a
budget that counts groups is an event as well, under the reason of its condition.
"""

import logging
from collections.abc import Sequence

import msgspec

from intact.budget.pdb.group_conditions import MISCONFIGURED
from intact.kube.events import EventRecorder, EventType, reference_to
from intact.kube.resources import PDBS, PODS
from intact.kube.store import Key, key_of
from intact.model.listing import listed
from intact.model.meta import Condition, LabelSelector
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod

log = logging.getLogger(__name__)

NO_PODS = "NoPods"
NOT_COUNTED = "CalculateExpectedPodCountFailed"
UNMANAGED_PODS = "UnmanagedPods"
NOT_DELETED = "NotDeleted"
SEVERAL_BUDGETS = "MultiplePodDisruptionBudgets"
OTHER_WRITER = "OtherStatusWriter"
LEDGER_REPAIRED = "LedgerRepaired"


class DisruptionEvents:
    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._said: dict[Key, dict[str, str]] = {}

    def counted(self, budget: PodDisruptionBudget, *, pods: int, unmanaged: int) -> None:
        self._end(budget, NOT_COUNTED)
        if pods:
            self._end(budget, NO_PODS)
        else:
            self._begin(budget, "Normal", NO_PODS, "No matching pods found")
        if not unmanaged:
            self._end(budget, UNMANAGED_PODS)
            return
        self._begin(
            budget,
            "Warning",
            UNMANAGED_PODS,
            f"Pods selected by this PodDisruptionBudget (selector: "
            f"{_text_of(budget.spec.selector)}) were found to be unmanaged. As a result, the "
            "status of the PDB cannot be calculated correctly, which may result in undefined "
            'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB '
            "to an integer value.",
        )

    def not_selected(self, budget: PodDisruptionBudget, problem: str) -> None:
        self._begin(budget, "Warning", NO_PODS, f"Failed to get pods: {problem}")

    def not_counted(self, budget: PodDisruptionBudget, problem: str) -> None:
        text = f"Failed to calculate the number of expected pods: {problem}"
        self._begin(budget, "Warning", NOT_COUNTED, text)

    def not_deleted(self, budget: PodDisruptionBudget, pod: Pod) -> None:
        meta = budget.metadata
        text = f"Pod was expected by PDB {meta.namespace}/{meta.name} to be deleted but it wasn't"
        self._recorder.record(reference_to(PODS, pod.metadata), "Warning", NOT_DELETED, text)

    def several_budgets(self, pod: Pod, budgets: list[str]) -> None:
        meta = pod.metadata
        text = (
            f'Pod "{meta.namespace}"/"{meta.name}" matches multiple PodDisruptionBudgets: '
            f"{', '.join(budgets)}. All of them count it, and the Eviction API refuses to evict it."
        )
        self._recorder.record(reference_to(PODS, pod.metadata), "Warning", SEVERAL_BUDGETS, text)

    def other_writer(self, budget: PodDisruptionBudget, manager: str) -> None:
        text = (
            f"{manager} writes the status of this PodDisruptionBudget as well. Only one disruption "
            "controller may run: start kube-controller-manager with "
            "--controllers=*,-disruption-controller, or intact without disruption."
        )
        self._begin(budget, "Warning", OTHER_WRITER, text)

    def ledger_repaired(self, budget: PodDisruptionBudget, problems: Sequence[str]) -> None:
        """`problems` say what could not be; nothing is said if there are none."""
        if problems:
            found = listed(problems, separator="; ")
            text = f"The ledger of this PodDisruptionBudget was repaired: {found}"
            log.warning("%s/%s: %s", *key_of(budget), text)
            self._recorder.record(
                reference_to(PDBS, budget.metadata), "Warning", LEDGER_REPAIRED, text
            )

    def configured(self, budget: PodDisruptionBudget, problem: Condition | None) -> None:
        """`problem` is its condition BudgetConfigured, if that is False."""
        for reason in MISCONFIGURED:
            if problem is None or problem.reason != reason:
                self._end(budget, reason)
        if problem is not None:
            self._begin(budget, "Warning", problem.reason, problem.message)

    def forget(self, key: Key) -> None:
        self._said.pop(key, None)

    def _begin(
        self, budget: PodDisruptionBudget, type_: EventType, reason: str, message: str
    ) -> None:
        said = self._said.setdefault(key_of(budget), {})
        if said.get(reason) == message:
            return
        said[reason] = message
        meta = budget.metadata
        reference = msgspec.structs.replace(
            reference_to(PDBS, meta), resource_version=meta.resource_version
        )
        self._recorder.record(reference, type_, reason, message)

    def _end(self, budget: PodDisruptionBudget, reason: str) -> None:
        said = self._said.get(key_of(budget))
        if said is not None:
            said.pop(reason, None)


def _text_of(selector: LabelSelector | None) -> str:
    """As kubectl shows it."""
    if selector is None:
        return "<none>"
    parts = [f"{key}={value}" for key, value in selector.match_labels.items()]
    for one in selector.match_expressions:
        values = f" ({','.join(one.values)})" if one.values else ""
        parts.append(f"{one.key} {one.operator}{values}")
    return ",".join(parts) or "<all>"
