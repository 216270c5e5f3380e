"""The world of one run: the API, what is true on it, and what has happened."""

import random

from intact.kube.client import Client
from intact.kube.resources import PUBS
from intact.sandbox import Kind, MemoryApi, wall_clock
from tests.simulation.scenario import CUSTOM, Scenario
from tests.simulation.trace import Trace
from tests.simulation.truth import NAMESPACE, Truth
from tests.support.objects import Json

_PUBS = Kind(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind, status=True)
_CUSTOM = Kind("example.dev", "v1", f"{CUSTOM.lower()}s", CUSTOM, status=True)


class World:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.weather = scenario.weather
        self.clock = wall_clock()
        self.api = MemoryApi(clock=self.clock, seed=scenario.seed, managed_fields=False)
        self.api.register(_PUBS)
        self.api.register(_CUSTOM)
        self.trace = Trace()
        self.truth = Truth(self.api, scenario, self.trace)
        self.user = Client(
            self.api.as_user("someone"), rng=self.rng("user"), on_warning=lambda _text: None
        )

    def rng(self, name: str) -> random.Random:
        """A random stream of its own for each name: one does not depend on the use of another."""
        return random.Random(f"{name} {self.scenario.seed}")

    def pod(self, name: str, uid: str = "") -> Json | None:
        """A pod as it is now, if it has this UID."""
        found = self.api.peek("pods", NAMESPACE, name)
        return found if found and uid in ("", found["metadata"]["uid"]) else None

    def pods(self) -> list[Json]:
        return [pod.obj for pod in self.truth.pods.values()]
