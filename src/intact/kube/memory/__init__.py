"""An API server in memory, and an event loop that replays.

`MemoryApi` is a `Transport`: the same client code runs over it and over a real server. `run` gives
it, and everything that talks to it, one seeded course of events.
"""

from intact.kube.memory.admission import Hook, Rule
from intact.kube.memory.builtin import DEFAULT_KINDS
from intact.kube.memory.faults import Faults, Moment
from intact.kube.memory.kinds import Kind, NameRule, Scale
from intact.kube.memory.routing import User
from intact.kube.memory.scheduler import Deadlock, LimitReached, SimulatedLoop, run, wall_clock
from intact.kube.memory.server import MemoryApi

__all__ = [
    "DEFAULT_KINDS",
    "Deadlock",
    "Faults",
    "Hook",
    "Kind",
    "LimitReached",
    "MemoryApi",
    "Moment",
    "NameRule",
    "Rule",
    "Scale",
    "SimulatedLoop",
    "User",
    "run",
    "wall_clock",
]
