"""What a process has used, from /proc."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    cpu: float
    """Seconds, user and system, of all threads since the start."""
    rss: int
    """Bytes in memory now."""
    peak: int
    """The most bytes in memory at any time."""

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def usage(pid: int) -> Usage:
    # The command in parentheses may itself contain spaces and parentheses.
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    utime, stime = int(stat[11]), int(stat[12])
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return Usage(
        cpu=(utime + stime) / _TICKS,
        rss=int(status["VmRSS"].split()[0]) * _KIB,
        peak=int(status["VmHWM"].split()[0]) * _KIB,
    )
