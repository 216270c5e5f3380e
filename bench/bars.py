"""Figures with a bar of their own, without a peer."""

from dataclasses import dataclass

from bench.table import Format


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: float
    bar: float
    format: Format
    at_least: bool = False

    @property
    def passed(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar


def render(bars: list[Bar]) -> str:
    width = max(len(bar.name) for bar in bars)
    lines = []
    for bar in bars:
        side = ">=" if bar.at_least else "<="
        verdict = "PASS" if bar.passed else "FAIL"
        value = bar.format(bar.value)
        lines.append(f"{bar.name.ljust(width)}  {value}  {verdict} (bar: {side} {bar.bar:g})")
    return "\n".join(lines)
