"""Writes that do not depend on each other."""

from collections.abc import Coroutine, Iterable
from typing import Any

from intact.kube.errors import ApiError, NotFound


async def gather_refusals(writes: Iterable[Coroutine[Any, Any, None]]) -> list[ApiError]:
    """Make all of these writes, one after another, and return the refusals: one that the API server
    refuses holds up no other. It counts as done if the object is gone."""
    refusals: list[ApiError] = []
    for write in writes:
        try:
            await write
        except NotFound:
            continue
        except ApiError as error:
            refusals.append(error)
    return refusals
