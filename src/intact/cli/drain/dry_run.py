"""What a drain would do: the order in which it would ask, or the server's answers to dry runs."""

import asyncio
from collections.abc import Iterable, Mapping

from intact.cli.drain.answers import Answer, explained
from intact.cli.drain.events import Event, Tell, What
from intact.cli.drain.evictions import Evictions
from intact.cli.drain.plan import Candidate, Mark, next_units
from intact.cli.drain.units import DrainUnit, all_units
from intact.model.pod import DetailedPod
from intact.picture.picture import Picture


def ordered(pictures: Mapping[str, Picture], pods: Iterable[DetailedPod]) -> list[DrainUnit]:
    """The units in the order in which they would be asked for, if every budget allowed it."""
    units = {unit.key: unit for unit in all_units(pictures, pods)}
    candidates = [
        Candidate(unit.key, len(unit.pods), unit.is_free, unit.costs, unit.name)
        for unit in units.values()
    ]
    room = {budget: len(units) * 1_000_000 for unit in units.values() for budget in unit.costs}
    return [units[key] for key in next_units(candidates, room, lambda _key, _free: Mark.NONE)]


def tell_order(units: Iterable[DrainUnit], tell: Tell) -> None:
    for unit in units:
        for pod in unit.pods:
            tell(_event(What.EVICTING, unit, pod, "dry run"))


async def ask_server(units: Iterable[DrainUnit], evictions: Evictions, tell: Tell) -> bool:
    """Whether the server answers without errors. Each pod is asked for as if it were the first."""
    asked = [(unit, pod) for unit in units for pod in unit.pods]
    answers = await asyncio.gather(*(evictions.ask(pod) for _unit, pod in asked))
    well = True
    for (unit, pod), said in zip(asked, answers, strict=True):
        match said.answer:
            case Answer.GRANTED | Answer.GONE | Answer.LEAVING:
                tell(_event(What.EVICTING, unit, pod, "server dry run"))
            case Answer.REFUSED | Answer.BUSY:
                tell(_event(What.REFUSED, unit, pod, said.message))
            case _:
                well = False
                tell(_event(What.FAILED, unit, pod, explained(said.message, unit.budgets)))
    return well


def _event(what: What, unit: DrainUnit, pod: DetailedPod, message: str) -> Event:
    meta = pod.metadata
    return Event(
        what,
        node=pod.spec.node_name,
        namespace=meta.namespace,
        pod=meta.name,
        uid=meta.uid,
        group=unit.group,
        message=message,
    )
