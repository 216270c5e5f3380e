"""A cluster in one process. `cluster.Sandbox` is all of it.

`MemoryApi`, its API server, is a `Transport`: the same client code runs over it and over a real
server. `run` gives it, and everything that talks to it, one seeded course of events.
"""

from intact.sandbox.api.admission import Hook, Rule
from intact.sandbox.api.builtin import DEFAULT_KINDS
from intact.sandbox.api.kinds import Kind, NameRule, Scale
from intact.sandbox.api.routing import User
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.faults import Faults, Moment
from intact.sandbox.loop import Deadlock, LimitReached, SimulatedLoop, run, wall_clock

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
