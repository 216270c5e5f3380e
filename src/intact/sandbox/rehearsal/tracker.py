"""How many units of a budget are down, over time, counted with every change of a pod."""

from collections.abc import Callable
from dataclasses import dataclass, field

from intact.picture.coverage import Unit


@dataclass(slots=True)
class Course:
    """What has happened to one unit."""

    need: int
    available: int = 0
    """Pods."""
    breaks: int = 0
    """How often it was up and went down."""
    down_for: float = 0.0
    since: float | None = None
    """Since when it is down."""

    @property
    def is_up(self) -> bool:
        return self.available >= self.need


@dataclass(slots=True)
class Tracker:
    now: Callable[[], float]
    units: dict[str, Course] = field(default_factory=dict)
    expected: int | None = None
    """How many units there should be; None until it is known, as it then is fixed."""
    most_down: int = 0
    _up: int = 0
    _pods: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """By UID: the unit, and whether the pod is available."""
    _at: dict[int, float] = field(default_factory=dict)
    """Seconds, by the number of units that were down."""
    _since: float = 0.0
    _begun: bool = False

    def put(self, uid: str, unit: Unit, *, available: bool) -> None:
        known = self._pods.get(uid)
        if known == (unit.name, available):
            return
        self._elapse()
        if known is not None:
            self._count(known[0], -known[1])
        course = self.units.get(unit.name)
        if course is None:
            course = self.units[unit.name] = Course(unit.need, since=self.now())
        course.need = unit.need
        self._pods[uid] = (unit.name, available)
        self._count(unit.name, int(available))
        self._note()

    def remove(self, uid: str) -> None:
        known = self._pods.pop(uid, None)
        if known is not None:
            self._elapse()
            self._count(known[0], -known[1])
            self._note()

    def _count(self, name: str, pods: int) -> None:
        course = self.units[name]
        was_up = course.is_up
        course.available += pods
        if was_up == course.is_up and (course.since is None) == course.is_up:
            return
        now = self.now()
        if course.is_up:
            self._up += 1
            if self._begun and course.since is not None:
                course.down_for += now - course.since
            course.since = None
        elif was_up:
            self._up -= 1
            course.since = now
            course.breaks += self._begun

    def begin(self, expected: int | None) -> None:
        """What has happened so far does not count."""
        self._begun = True
        self.expected = expected if expected is not None else self._present()
        self._at.clear()
        self._since = self.now()
        self.most_down = self.down
        for course in self.units.values():
            course.breaks, course.down_for = 0, 0.0
            course.since = None if course.is_up else self._since

    def _present(self) -> int:
        return len({unit for unit, _available in self._pods.values()})

    def end(self) -> None:
        self._elapse()
        for course in self.units.values():
            if course.since is not None:
                course.down_for += self.now() - course.since
                course.since = self.now()

    @property
    def down(self) -> int:
        return max(0, (self.expected or 0) - self._up)

    def seconds_at(self, least: int) -> float:
        """How long at least so many units were down, altogether."""
        return sum(seconds for down, seconds in self._at.items() if down >= least)

    def _elapse(self) -> None:
        now = self.now()
        self._at[self.down] = self._at.get(self.down, 0.0) + now - self._since
        self._since = now

    def _note(self) -> None:
        self.most_down = max(self.most_down, self.down)
