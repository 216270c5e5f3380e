"""The manifests in examples/."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def documents(text: str) -> list[str]:
    """The YAML documents of a file as they are written, without the comment at the top."""
    return [_without_heading(part.strip()) for part in text.split("\n---\n")]


def _without_heading(document: str) -> str:
    lines = document.splitlines()
    return "\n".join(lines[1:] if lines[0].startswith("#") else lines)


def covering_test(example: Path) -> str:
    """The name of the cluster test that applies an example."""
    return f"test_{example.stem.replace('-', '_')}"
