"""What is wrong with one field of an object."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    path: str
    value: object
    message: str

    @property
    def body(self) -> str:
        """Without the path, as the API server writes it."""
        given = "" if self.value is None else f"Invalid value: {json.dumps(self.value)}: "
        return given + self.message

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"
