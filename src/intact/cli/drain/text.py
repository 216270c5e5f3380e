"""A drain as plain lines, in kubectl's words."""

from intact.cli.drain.events import Event, What
from intact.cli.durations import duration


def line(event: Event) -> str | None:
    """None if there is nothing to say."""
    pod = f"{event.namespace}/{event.pod}"
    if event.group:
        pod += f" (group {event.group})"
    node = f"node/{event.node}"
    message = event.message
    text = {
        What.CORDONED: f"{node} {message or 'cordoned'}",
        What.UNCORDONED: f"{node} uncordoned",
        What.WARNING: f"Warning: {message}",
        What.EVICTING: f"evicting pod {pod}",
        What.EVICTED: f"pod/{event.pod} evicted",
        What.FAILED: f'error when evicting pods/"{event.pod}" -n "{event.namespace}": {message}',
        What.LATE: f"pod {pod} came after {node} was cordoned, and is left alone",
        What.WAITING: f"waiting for {event.budget} in {event.namespace}: {message}",
        What.DRAINED: f"{node} drained",
        What.PAUSING: f"pausing for {duration(event.seconds or 0)} before the next node",
        What.UNREACHABLE: f"{message}; trying again",
        What.LEFT: f"  {pod} on {event.node}: {message}",
        What.ENDED: message,
    }.get(event.what)
    return text or None
