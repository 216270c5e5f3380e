"""`intact drain --dry-run=rehearse`: the same nodes and options, on a copy of the cluster."""

from collections.abc import Sequence

from intact.cli import rehearse as rehearsals
from intact.cli.drain.options import Options
from intact.cli.options import Cluster, Rehearsal

_HORIZON = 24 * 3600.0
_ALL = 1_000_000


def rehearse(
    cluster: Cluster, nodes: Sequence[str], selector: str | None, options: Options, *, output: str
) -> None:
    rehearsal = Rehearsal(
        source=None,
        output=output,
        force=options.force,
        delete_emptydir_data=options.delete_emptydir_data,
        ready_after={},
        gone_after={},
        horizon=_HORIZON,
    )
    rehearsals.drain(cluster, rehearsal, nodes, selector, options.parallel or _ALL)
