"""Where pictures go: in a terminal one that changes in place, elsewhere lines."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live

from demo.view import Picture, line, render


class Screen:
    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console or Console(highlight=False)
        self._clock = clock
        self._begun = clock()
        self._live: Live | None = None
        self._playing = False
        self._last_lines: dict[str, str] = {}
        """The last line about each thing that lines are about."""
        self._output_shown = 0

    def say(self, text: str) -> None:
        """One line of progress."""
        self.say_plainly(f"{self._clock() - self._begun:6.1f} s  {text}")

    def say_plainly(self, *lines: str) -> None:
        """Lines to be copied: no time before them, never wrapped."""
        for each in lines:
            self._console.print(each, markup=False, soft_wrap=True)

    def invite(self, *commands: str) -> None:
        """Commands that the user may run now."""
        self.say("everything keeps running until Ctrl-C; try in another terminal:")
        self.say_plainly(*commands)

    def print(self, what: RenderableType) -> None:
        self._console.print(what)

    @contextmanager
    def act(self) -> Generator[None, None, None]:
        """Pictures shown within replace one another; the last one stays."""
        self._last_lines, self._output_shown = {}, 0
        self._playing = True
        try:
            if self._console.is_terminal:
                with Live(console=self._console, auto_refresh=False) as live:
                    self._live = live
                    yield
            else:
                yield
        finally:
            self._playing, self._live = False, None

    def show(self, picture: Picture) -> None:
        """Shows nothing between the acts."""
        if self._live is not None:
            self._live.update(render(picture), refresh=True)
        elif self._playing:
            self._show_lines(picture)

    def show_panel(self, panel: RenderableType, summary: str) -> None:
        """The same for a picture with a summary of one line for where there is no terminal."""
        if self._live is not None:
            self._live.update(panel, refresh=True)
        elif self._playing and summary != self._last_lines.get(""):
            self._last_lines[""] = summary
            self.say(summary)

    def _show_lines(self, picture: Picture) -> None:
        for text in picture.output[self._output_shown :]:
            self.say(f"kubectl: {text}")
        self._output_shown = len(picture.output)
        for section in picture.sections:
            if (now := line(section)) != self._last_lines.get(section.name):
                self._last_lines[section.name] = now
                self.say(now)
