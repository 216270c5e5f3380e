"""The live view of a drain: a bar for each node, what is waited for and since when, what went
wrong. It is made of events alone."""

from dataclasses import dataclass, field

from intact.cli.drain.events import Event, What
from intact.cli.drain.text import line
from intact.cli.durations import age, duration
from intact.cli.output import counted

_WIDTH = 24
_MOST = 8
"""Of warnings and errors."""


@dataclass(slots=True)
class _Node:
    pods: int | None = None
    """None until it is its turn."""
    leaving: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    is_drained: bool = False


class Progress:
    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._nodes: dict[str, _Node] = {}
        self._waiting: dict[tuple[str, str], tuple[float, str]] = {}
        self._said: list[str] = []
        self._errors: dict[str, str] = {}
        self._pause: tuple[float, float] | None = None
        self._end: list[str] = []

    def add(self, event: Event, now: float) -> None:
        node = self._nodes.setdefault(event.node, _Node()) if event.node else _Node()
        match event.what:
            case What.BEGUN:
                node.pods, self._pause = event.pods, None
            case What.EVICTING:
                node.leaving.add(event.uid)
                self._errors.pop(event.uid, None)
                node.failed.discard(event.uid)
            case What.EVICTED:
                node.gone.add(event.uid)
                node.leaving.discard(event.uid)
                node.failed.discard(event.uid)
                self._errors.pop(event.uid, None)
            case What.FAILED:
                node.failed.add(event.uid)
                self._errors[event.uid] = line(event) or ""
            case What.DRAINED:
                node.is_drained = True
            case What.WAITING:
                key = event.namespace, event.budget
                since = self._waiting[key][0] if key in self._waiting else now
                self._waiting[key] = since, line(event) or ""
            case What.RESUMED:
                self._waiting.pop((event.namespace, event.budget), None)
            case What.PAUSING:
                self._pause = now, event.seconds or 0.0
            case What.WARNING | What.LATE | What.UNREACHABLE | What.UNCORDONED:
                self._said.append(line(event) or "")
            case What.LEFT | What.ENDED:
                self._end += (line(event) or "").splitlines()
            case _:
                pass

    def picture(self, now: float) -> list[str]:
        width = max(map(len, self._nodes), default=0)
        lines = [
            f"{name.ljust(width)}  {_bar(node)}  {_counts(node)}".rstrip()
            for name, node in self._nodes.items()
        ]
        lines += self._said[-_MOST:]
        if self._pause is not None:
            at, seconds = self._pause
            left = max(0.0, seconds - (now - at))
            lines.append(f"pausing, {duration(left)} to go")
        if not self._end:
            lines += [f"{text} (for {age(now - since)})" for since, text in self._waiting.values()]
        errors = list(self._errors.values())
        lines += errors[:_MOST]
        if len(errors) > _MOST:
            lines.append(f"and {len(errors) - _MOST} more errors")
        lines.append(f"{age(now - self._begun)} so far" if not self._end else "")
        return [*lines, *self._end] if self._end else lines


def _bar(node: _Node) -> str:
    if node.pods is None:
        return "·" * _WIDTH
    if not node.pods:
        return "█" * _WIDTH
    gone = len(node.gone) * _WIDTH // node.pods
    leaving = min(_WIDTH - gone, -(-len(node.leaving) * _WIDTH // node.pods))
    return "█" * gone + "▒" * leaving + "░" * (_WIDTH - gone - leaving)


def _counts(node: _Node) -> str:
    if node.pods is None:
        return "cordoned, waits for its turn"
    text = f"{len(node.gone)} of {counted(node.pods, 'pod')} gone"
    if node.leaving:
        text += f", {len(node.leaving)} leaving"
    if node.failed:
        text += f", {counted(len(node.failed), 'error')}"
    return f"{text}, drained" if node.is_drained else text
