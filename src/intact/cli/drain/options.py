"""What the user asks of a drain."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Most are those of kubectl, under its names."""

    force: bool = False
    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    grace_period: int = -1
    timeout: float = 0.0
    """Seconds; 0 for none."""
    pod_selector: str = ""
    disable_eviction: bool = False
    skip_wait_for_delete_timeout: float = 0.0
    parallel: int | None = None
    """Nodes at a time; None for all."""
    pause_between: float = 0.0
    uncordon_on_failure: bool = False

    @property
    def grace_period_seconds(self) -> int | None:
        """None for that of each pod."""
        return self.grace_period if self.grace_period >= 0 else None
