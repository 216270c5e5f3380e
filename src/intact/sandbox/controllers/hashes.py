"""Short hashes in names and labels, in kube-controller-manager's alphabet.

The same template has the same hash, but not the one that Kubernetes would give it, which depends on
how Go prints its structs.
"""

from typing import Any
from zlib import crc32

from intact.sandbox.api.objects import encode

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def short_hash(value: Any, collisions: int = 0) -> str:
    """With the number of names that were taken already."""
    number = crc32(encode([_in_order(value), collisions]))
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    return value
