"""Which pods may go: the safety rules of kubectl drain, in its words.

First match wins:

| pod | without the option | with it |
|---|---|---|
| of a DaemonSet, not finished | blocks | stays (`--ignore-daemonsets`) |
| of a DaemonSet that is gone, not finished | blocks | the rows below hold (`--force`) |
| mirrors a static pod | stays | |
| finished | goes | |
| has an emptyDir | blocks | goes (`--delete-emptydir-data`) |
| has no controller | blocks | goes (`--force`) |
| any other | goes | |

One pod that blocks keeps all others where they are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from intact.cli.drain.options import Options
from intact.model.pod import DetailedPod
from intact.model.pod_state import controller_of, is_finished
from intact.model.times import parse_time

DAEMON_SET_BLOCKS = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
DAEMON_SET_STAYS = "ignoring DaemonSet-managed Pods"
LOCAL_STORAGE_BLOCKS = "Pods with local storage (use --delete-emptydir-data to override)"
LOCAL_STORAGE_GOES = "deleting Pods with local storage"
UNMANAGED_BLOCKS = "Pods that declare no controller (use --force to override)"
UNMANAGED_GOES = "deleting Pods that declare no controller"


class Fate(Enum):
    GOES = auto()
    STAYS = auto()
    BLOCKS = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    fate: Fate
    why: str = ""
    """For an error or a warning; empty if there is nothing to say."""


DaemonSets = Callable[[str, str], bool]
"""Whether there is a DaemonSet, by namespace and name; true if nobody knows."""


def verdict(pod: DetailedPod, options: Options, is_there: DaemonSets) -> Verdict:
    owner = controller_of(pod)
    finished = is_finished(pod)
    warning = ""
    if owner is not None and owner.kind == "DaemonSet" and not finished:
        if is_there(pod.metadata.namespace, owner.name):
            if options.ignore_daemonsets:
                return Verdict(Fate.STAYS, DAEMON_SET_STAYS)
            return Verdict(Fate.BLOCKS, DAEMON_SET_BLOCKS)
        missing = f'daemonsets.apps "{owner.name}" not found'
        if not options.force:
            return Verdict(Fate.BLOCKS, missing)
        warning = missing
    if pod.metadata.annotations.mirror is not None:
        return Verdict(Fate.STAYS)
    if finished:
        return Verdict(Fate.GOES)
    if any(volume.empty_dir is not None for volume in pod.spec.volumes):
        if not options.delete_emptydir_data:
            return Verdict(Fate.BLOCKS, LOCAL_STORAGE_BLOCKS)
        warning = warning or LOCAL_STORAGE_GOES
    if owner is None:
        if not options.force:
            return Verdict(Fate.BLOCKS, UNMANAGED_BLOCKS)
        warning = UNMANAGED_GOES
    return Verdict(Fate.GOES, warning)


def is_skipped(pod: DetailedPod, options: Options, now: datetime) -> bool:
    """Whether the pod has been terminating for so long that nobody waits for it."""
    limit, since = options.skip_wait_for_delete_timeout, pod.metadata.deletion_timestamp
    if limit <= 0 or since is None:
        return False
    try:
        return (now - parse_time(since)).total_seconds() > limit
    except ValueError:
        return False


def daemon_sets_of(pods: Iterable[DetailedPod]) -> set[tuple[str, str]]:
    """The DaemonSets that the pods name, by namespace and name."""
    found = set()
    for pod in pods:
        owner = controller_of(pod)
        if owner is not None and owner.kind == "DaemonSet":
            found.add((pod.metadata.namespace, owner.name))
    return found


@dataclass(frozen=True, slots=True)
class Sorted:
    """Pods by their fate."""

    go: list[DetailedPod]
    warnings: dict[str, list[str]]
    """Names of pods by what is to be said of them."""
    errors: dict[str, list[str]]

    @property
    def warning(self) -> str:
        return "; ".join(f"{why}: {', '.join(names)}" for why, names in self.warnings.items())

    @property
    def error(self) -> str:
        return "\n".join(
            f"cannot delete {why}: {', '.join(names)}" for why, names in self.errors.items()
        )


def sort_out(pods: Iterable[DetailedPod], options: Options, is_there: DaemonSets) -> Sorted:
    found = Sorted([], defaultdict(list), defaultdict(list))
    for pod in pods:
        said = verdict(pod, options, is_there)
        if said.fate is Fate.GOES:
            found.go.append(pod)
        if said.why:
            into = found.errors if said.fate is Fate.BLOCKS else found.warnings
            into[said.why].append(f"{pod.metadata.namespace}/{pod.metadata.name}")
    return found
