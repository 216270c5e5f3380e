"""The revision that routers read on a pod: one value for all coordinated roles of one revision.

A pod has the label of the template that it is made from, whatever the rollout does next:

| the pod's template | its label |
|---|---|
| the present one | the present revision |
| the present one, which this rollout does not change | this revision or the one before, in step |
| an earlier one | a revision in which the role had this template |
| in no known revision | unknown |

In step with the other roles, so that old and new pods of every role find a peer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from intact.model.pod import Pod
from intact.model.pod_state import is_gone, is_ready
from intact.model.rbg import Coordination, RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.rollout.names import REVISION, role_revision_label
from intact.rollout.ratios import ceil
from intact.rollout.revisions import group_hash, hash_of, role_hashes


@dataclass(frozen=True, slots=True)
class Labels:
    """What the pods of one role may be labelled with."""

    role: str
    present: str
    """The hash of the role's present template."""
    target: str
    """The label of the present revision."""
    earlier: Mapping[str, Sequence[str]]
    """By the hash of a template: the labels of the revisions that had it, newest first, without the
    target."""

    def template_of(self, pod: Pod) -> str:
        return pod.metadata.labels.get(role_revision_label(self.role), "")

    def before(self, template: str, pods: Iterable[Pod]) -> str | None:
        """The label of a pod that is not, or not yet, of the present revision: what most pods of
        its template have, else the newest. None if no revision has its template."""
        options = self.earlier.get(template, ())
        if not options:
            return self.target if template == self.present else None
        seen = Counter(
            pod.metadata.labels.get(REVISION)
            for pod in pods
            if self.template_of(pod) == template and not is_gone(pod)
        )
        return max(options, key=lambda label: (seen[label], -options.index(label)))

    def is_right(self, pod: Pod) -> bool:
        """Whether the pod's label is one that its template may have."""
        template, label = self.template_of(pod), pod.metadata.labels.get(REVISION)
        if label == self.target:
            return template == self.present
        return label in self.earlier.get(template, ())


def labels_of(
    role: str, revisions: Mapping[str, str], history: Sequence[ControllerRevision]
) -> Labels:
    """`revisions` are the hashes of the present templates of all roles of the coordination;
    `history` is oldest first."""
    target = group_hash(revisions)
    earlier: dict[str, list[str]] = {}
    for one in reversed(history):
        had = {
            name: hash_of(template)
            for name, template in one.data.get("roles", {}).items()
            if name in revisions
        }
        label = group_hash(had)
        if role in had and label != target and label not in earlier.get(had[role], []):
            earlier.setdefault(had[role], []).append(label)
    return Labels(role, revisions[role], target, earlier)


def relabelled(labels: Labels, pods: Sequence[Pod], due: int) -> dict[str, str]:
    """By pod name, the label that it should get. `pods` are in the order in which they get the
    present revision, and `due` of them that are updated have it by now."""
    found: dict[str, str] = {}
    updated = [pod for pod in pods if labels.template_of(pod) == labels.present]
    have = sum(pod.metadata.labels.get(REVISION) == labels.target for pod in updated)
    for pod in pods:
        label = pod.metadata.labels.get(REVISION)
        if label == labels.target and labels.is_right(pod):
            continue
        template = labels.template_of(pod)
        if template == labels.present and have < due:
            found[pod.metadata.name] = labels.target
            have += 1
        elif not labels.is_right(pod) and (right := labels.before(template, pods)) is not None:
            found[pod.metadata.name] = right
    return found


def label_of_new(
    group: RoleBasedGroup,
    coordination: Coordination,
    role: str,
    template: str,
    pods: Mapping[str, Sequence[Pod]],
    history: Sequence[ControllerRevision],
) -> str | None:
    """The label of a pod that is being created from this template; None if it is unknown. `pods`
    are those of all roles of the coordination."""
    hashes = role_hashes(group)
    revisions = {name: hashes[name] for name in coordination.roles}
    labels = labels_of(role, revisions, history)
    others = [pod for pod in pods[role] if not is_gone(pod)]
    if template != labels.present:
        return labels.before(template, others)
    if _is_complete(group, hashes) or any(labels.template_of(pod) != template for pod in others):
        return labels.target
    share = min(_shares(group, revisions, pods), default=Fraction(1))
    have = sum(pod.metadata.labels.get(REVISION) == labels.target for pod in others)
    if have < ceil(share * (len(others) + 1)):
        return labels.target
    return labels.before(template, others)


def _is_complete(group: RoleBasedGroup, hashes: Mapping[str, str]) -> bool:
    """Whether all roles run the present templates."""
    name = f"{group.metadata.name}-{group_hash(hashes)}"
    return group.status.current_revision == group.status.update_revision == name


def _shares(
    group: RoleBasedGroup, revisions: Mapping[str, str], pods: Mapping[str, Sequence[Pod]]
) -> Iterable[Fraction]:
    """Of each role with old pods, how much of it is updated and ready."""
    for name, present in revisions.items():
        label = role_revision_label(name)
        there = [pod for pod in pods[name] if not is_gone(pod)]
        updated = [pod for pod in there if pod.metadata.labels.get(label) == present]
        if len(updated) < len(there):
            stored = group.status.role(name)
            desired = max(len(there), stored.desired if stored else 0)
            yield Fraction(sum(map(is_ready, updated)), desired)
