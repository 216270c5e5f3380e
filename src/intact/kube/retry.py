"""When a failed request may be sent again, and how long to wait before."""

import random
from dataclasses import dataclass

from intact.kube.errors import ApiError, KubeError, TooManyRequests, Unreachable

_PASSING = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, with full jitter in its upper half: never at once, never all together."""

    first: float = 0.1
    most: float = 30.0
    factor: float = 2.0

    def delay(self, failures: int, rng: random.Random) -> float:
        """Seconds to wait after that many failures in a row (one or more)."""
        # The exponent is bounded so that a long outage does not overflow a float.
        ceiling = min(self.most, self.first * self.factor ** min(failures - 1, 64))
        return ceiling * (0.5 + 0.5 * rng.random())


def may_retry(method: str, error: KubeError) -> bool:
    """Whether sending the same request again cannot do its work twice.

    Reads are repeated whenever the failure may pass. Writes are repeated only if the server cannot
    have carried them out: the connection was refused, or it says "too many requests, come back
    after …". A 429 without Retry-After is a disruption budget's answer and goes to the caller.
    """
    if isinstance(error, Unreachable):
        return method == "GET" or not error.sent
    if isinstance(error, TooManyRequests):
        return error.retry_after is not None
    return method == "GET" and isinstance(error, ApiError) and error.code in _PASSING
