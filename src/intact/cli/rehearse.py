"""`intact rehearse`: what a maintenance would do to a cluster, from a copy of it."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from intact.budget.pdb.group_settings import REPLICAS
from intact.cli.files import is_file, objects
from intact.cli.options import Cluster, Rehearsal
from intact.cli.rehearse_text import text
from intact.cli.snapshot import read as read_live
from intact.kube.resources import PDBS, PODS, PUBS, RBGS
from intact.model.rbg import RoleBasedGroup
from intact.sandbox.api.failures import Failure
from intact.sandbox.api.selectors import parse_labels
from intact.sandbox.rehearsal.compare import compared
from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.recording import Recording
from intact.sandbox.rehearsal.rehearse import Outcome, RehearsalError, Work, rehearse
from intact.sandbox.rehearsal.report import Report
from intact.sandbox.rehearsal.rollout import changed, restarted, roll_out
from intact.sandbox.rehearsal.stage import Options, Stage
from intact.sandbox.rehearsal.upgrade import upgrade as upgrade_nodes
from intact.sandbox.snapshot.document import Json, Snapshot, SnapshotError
from intact.sandbox.snapshot.document import read as read_file

DOES_NOT_GO_THROUGH = 3
_NEEDED = ("nodes", PODS.full_name, PDBS.full_name, PUBS.full_name)
"""Without budgets a drain would seem to go through that they hold up."""


def drain(
    cluster: Cluster,
    rehearsal: Rehearsal,
    nodes: Sequence[str],
    selector: str | None,
    parallel: int,
) -> None:
    snapshot = _read(cluster, rehearsal.source)
    chosen = _chosen(snapshot, nodes, selector)

    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        stage.nodes = lambda: drains.reports(chosen)
        done = await drains.run(chosen, parallel)
        return Outcome(done, stage.nodes())

    _show(_rehearsed(snapshot, "drain", work, rehearsal), rehearsal.output)


def upgrade(
    cluster: Cluster,
    rehearsal: Rehearsal,
    selector: str | None,
    batch: int,
    back_after: float,
) -> None:
    snapshot = _read(cluster, rehearsal.source)
    chosen = _chosen(snapshot, (), selector or "")

    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        stage.nodes = lambda: drains.reports(chosen)
        done = await upgrade_nodes(stage, drains, chosen, batch, back_after)
        return Outcome(done, stage.nodes())

    _show(_rehearsed(snapshot, "upgrade", work, rehearsal), rehearsal.output)


def rollout(cluster: Cluster, rehearsal: Rehearsal, groups: Sequence[str]) -> None:
    snapshot = _read(cluster, rehearsal.source)
    wanted = [each for name in groups for each in _wanted(snapshot, name, cluster)]

    async def work(stage: Stage) -> Outcome:
        return Outcome(await roll_out(stage, wanted))

    report = _filmed(snapshot, "rollout", work, rehearsal, intact=True)
    if not _runs_intact(snapshot):
        report.notes.append("This cluster does not run Intact, which rolls out RoleBasedGroups.")
    _show(report, rehearsal.output)


def _options(rehearsal: Rehearsal) -> Options:
    return Options(
        force=rehearsal.force,
        delete_emptydir_data=rehearsal.delete_emptydir_data,
        ready_after=rehearsal.ready_after,
        gone_after=rehearsal.gone_after,
        horizon=rehearsal.horizon,
    )


def _read(cluster: Cluster, source: str | None) -> Snapshot:
    if source is None:
        snapshot = asyncio.run(read_live(cluster))
    else:
        try:
            snapshot = read_file(Path(source))
        except SnapshotError as error:
            raise click.ClickException(f"{source}: {error}") from None
        except OSError as error:
            raise click.ClickException(f"{source}: {error.strerror}") from None
    missing = [each for each in snapshot.unreadable if each.resource in _NEEDED]
    if missing:
        names = " and ".join(each.resource for each in missing)
        raise click.ClickException(f"without {names}, which may not be read, nothing can be told")
    return snapshot


def _chosen(snapshot: Snapshot, names: Sequence[str], selector: str | None) -> list[str]:
    """The nodes to drain, in the order that is given, or by name."""
    nodes = {each["metadata"]["name"]: each for each in snapshot.of("nodes")}
    for name in names:
        if name not in nodes:
            raise click.ClickException(f"there is no node {name}")
    if selector is None:
        return list(dict.fromkeys(names))
    try:
        selects = parse_labels(selector)
    except Failure as error:
        raise click.UsageError(f"the selector {selector!r} cannot be read: {error}") from None
    found = sorted(
        name for name, each in nodes.items() if selects(each["metadata"].get("labels") or {})
    )
    if not found:
        why = f"no node has the labels {selector!r}" if nodes else "the cluster has no nodes"
        raise click.ClickException(why)
    return found


def _runs_intact(snapshot: Snapshot) -> bool:
    """Where the webhooks may not be read, what Intact has written tells it."""
    if snapshot.intact is not None:
        return snapshot.intact
    return any(
        REPLICAS in (each["metadata"].get("annotations") or {})
        for each in snapshot.of(PDBS.full_name)
    ) or any(
        (each.get("status") or {}).get("observedGeneration") for each in snapshot.of(PUBS.full_name)
    )


def _rehearsed(snapshot: Snapshot, action: str, work: Work, rehearsal: Rehearsal) -> Report:
    intact = _runs_intact(snapshot)
    report = _filmed(snapshot, action, work, rehearsal, intact=intact)
    if not intact:
        report = compared(
            report,
            snapshot,
            lambda other: _once(other, action, work, _options(rehearsal), intact=True),
        )
    report.notes.extend(_unread(snapshot, intact=intact))
    return report


def _filmed(
    snapshot: Snapshot, action: str, work: Work, rehearsal: Rehearsal, *, intact: bool
) -> Report:
    """With its course in a file, if that is wanted."""
    options = _options(rehearsal)
    if rehearsal.film is None:
        return _once(snapshot, action, work, options, intact=intact)
    file = Path(rehearsal.film)
    if not file.absolute().parent.is_dir():  # said before the work, not after it
        raise click.ClickException(f"{file}: there is no directory {file.parent}")
    recording = Recording()
    report = _once(snapshot, action, work, options, recording, intact=intact)
    try:
        recording.write(file)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
    click.echo(f"{file}: {len(recording.film.changes) + 1} frames", err=True)
    return report


def _once(
    snapshot: Snapshot,
    action: str,
    work: Work,
    options: Options,
    recording: Recording | None = None,
    *,
    intact: bool,
) -> Report:
    try:
        return rehearse(snapshot, action, work, options, intact=intact, recording=recording)
    except RehearsalError as error:
        raise click.ClickException(str(error)) from None


def _unread(snapshot: Snapshot, *, intact: bool) -> list[str]:
    notes = [
        f"{each.resource} could not be read; what depends on them is not known."
        for each in snapshot.unreadable
    ]
    pubs = len(snapshot.of(PUBS.full_name))
    if pubs and not intact:
        notes.append(f"{pubs} PodUnavailableBudgets hold nothing here: only Intact holds them.")
    if snapshot.intact is None:
        seen = "is taken to run" if intact else "is taken not to run"
        notes.append(f"Webhooks could not be read; Intact {seen} here, by what it writes.")
    return notes


def _wanted(snapshot: Snapshot, name: str, cluster: Cluster) -> list[Json]:
    """The RoleBasedGroups as they are to be: of a file, or the one of this name, restarted."""
    known = {
        (each["metadata"]["namespace"], each["metadata"]["name"]): each
        for each in snapshot.of(RBGS.full_name)
    }
    if is_file(name):
        return [_merged(each, known, cluster, name) for each in _documents(name)]
    namespace, slash, short = name.rpartition("/")
    where = namespace if slash else cluster.namespace or "default"
    if (where, short) not in known:
        raise click.ClickException(f"there is no RoleBasedGroup {short} in namespace {where}")
    return [restarted(known[where, short])]


def _merged(given: Json, known: dict[tuple[str, str], Json], cluster: Cluster, source: str) -> Json:
    whole: Json = {"apiVersion": RBGS.api_version, "spec": {}, **given}
    try:
        msgspec.convert(whole, RoleBasedGroup)
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{source}: {error}") from None
    meta = whole.get("metadata") or {}
    namespace = meta.get("namespace") or cluster.namespace or "default"
    present = known.get((namespace, meta.get("name", "")))
    if present is None:
        raise click.ClickException(
            f"{source}: there is no RoleBasedGroup {meta.get('name')} in namespace {namespace}"
        )
    return changed(present, whole)


def _documents(source: str) -> list[Json]:
    groups = objects(source, RBGS.kind)
    if not groups:
        raise click.ClickException(f"{source} has no object of kind {RBGS.kind}")
    return groups


def _show(report: Report, output: str) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(report.as_json())).decode())
    else:
        click.echo(text(report))
    sys.exit(0 if report.goes_through else DOES_NOT_GO_THROUGH)
