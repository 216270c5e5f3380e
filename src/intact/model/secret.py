"""Secret."""

from intact.model.base import View
from intact.model.meta import ObjectMeta


class Secret(View):
    metadata: ObjectMeta
    data: dict[str, str | None] = {}
    """Values in base64; None if empty."""
