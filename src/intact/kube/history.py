"""The server's history of versions, as this process knows it.

Versions only go up, unless the server is restored from a backup. A reader that finds a version
below one that was known before it asked says so here. Then everything that follows the server
begins anew: it may not find out by itself, since the server counts on and may have passed its
version already.
"""

from collections.abc import Callable


class History:
    def __init__(self) -> None:
        self._followers: list[Callable[[], None]] = []

    def follow(self, begin_anew: Callable[[], None]) -> Callable[[], None]:
        """Call this when the server has gone back; until the returned function is called."""
        self._followers.append(begin_anew)
        return lambda: self._followers.remove(begin_anew)

    def went_back(self) -> None:
        for begin_anew in tuple(self._followers):
            begin_anew()
