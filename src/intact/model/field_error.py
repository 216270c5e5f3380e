"""What is wrong with one field of an object."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    path: str
    value: object
    message: str

    def __str__(self) -> str:
        """As the API server writes it."""
        given = "" if self.value is None else f"Invalid value: {json.dumps(self.value)}: "
        return f"{self.path}: {given}{self.message}"
