"""What a stream of changes cost the process that followed it."""

from dataclasses import dataclass

from bench.usage import Usage


@dataclass(frozen=True, slots=True)
class Result:
    begun: Usage
    ended: Usage
    events: int
    writes: float
    behind: float
    """Seconds from the answer to the last change until every budget shows it."""

    @property
    def cpu_per_event(self) -> float:
        return (self.ended.cpu - self.begun.cpu) / self.events
