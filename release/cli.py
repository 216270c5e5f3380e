"""The command line of a release: one option, the artefacts' names and sizes as output."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from release.artefacts import make
from release.errors import ReleaseError

URL = "https://example.com/intact/v{version}"
"""A placeholder: nothing is published there."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="make release", description="Make the artefacts of a release into dist/."
    )
    parser.add_argument(
        "--url",
        default=URL,
        help="where the artefacts will be published, for the krew manifest; "
        "{version} stands for the version (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", options.url):
        parser.error(f"--url (RELEASE_URL): {options.url!r} is not an address like {URL}")
    try:
        made = make(Path.cwd(), options.url)
    except ReleaseError as error:
        parser.exit(1, f"no release: {error}\n")
    for path in made:
        print(f"{path.stat().st_size:>10,}  {path.relative_to(Path.cwd())}")
    return 0
