"""What the page shows at one moment."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from intact.picture.objects import Objects
from intact.picture.picture import Picture, draw
from intact.picture.verdict import Judge


@dataclass(frozen=True)
class Moment:
    objects: Objects
    now: datetime
    drawn: Picture | None = None
    """If the objects have been drawn already: only time has gone on."""

    @cached_property
    def picture(self) -> Picture:
        return self.drawn or draw(self.objects)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.picture, self.now)
