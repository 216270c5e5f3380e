"""JSON that nests more deeply than a decoder goes.

Anyone who may create an object may give it managedFields thousands of levels deep, and the API
server stores them. The decoder stops within a thousand levels, even in what no view reads. What is
so deep is cut off, and then the object can be read.
"""

import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

KEPT = 200
"""Levels that are kept: many more than any view reads."""
DEEPEST = 10_000
"""Levels that the API server takes."""
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_OPENS, _CLOSES = b"[{", b"]}"


def read_deep(read: Callable[[bytes], T], body: bytes) -> T:
    """What `read` makes of the body. If that nests too deeply for it, of the body without what is
    below `KEPT` levels. Raises `RecursionError` where no API server has nested so deeply."""
    try:
        return read(body)
    except RecursionError:
        return read(without_depth(body))


def without_depth(body: bytes) -> bytes:
    """The same JSON with `null` in place of each value that is too deep."""
    depth, begin = 0, 0
    parts: list[bytes] = []
    for token in _TOKEN.finditer(body):
        sign = token[0]
        if sign in _OPENS:
            depth += 1
            if depth == KEPT + 1:
                parts += body[begin : token.start()], b"null"
            elif depth > DEEPEST:
                raise RecursionError(f"nested more than {DEEPEST} levels deep")
        elif sign in _CLOSES:
            if depth == KEPT + 1:
                begin = token.end()
            depth -= 1
    return b"".join([*parts, body[begin:]])
