"""`intact.pyz`: the command in one file, for machines that have python3 and nothing else.

The file carries the very wheels whose hashes `requirements/run.txt` has, those of all targets. Its
start is `release/bootstrap.py`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from release import bootstrap
from release.archives import write_zip
from release.wheels import ARCHITECTURES, GLIBC, PYTHONS, Target

_START = b"#!/usr/bin/env python3\n"
SERVES = f"CPython {', '.join(PYTHONS)} on Linux ({', '.join(ARCHITECTURES)})"


def write_pyz(path: Path, own: Path, wheels: Mapping[Target, Sequence[Path]], epoch: int) -> Path:
    """`own` is Intact's wheel; `wheels` are those of its requirements."""
    carried = {each.name: each.read_bytes() for found in wheels.values() for each in found}
    carried[own.name] = own.read_bytes()
    digest = hashlib.sha256()
    for name, content in sorted(carried.items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    index = {
        "digest": digest.hexdigest()[:16],
        "glibc": GLIBC,
        "serves": SERVES,
        "wheels": {
            target.key: [f"wheels/{each.name}" for each in (own, *found)]
            for target, found in wheels.items()
        },
    }
    members = {f"wheels/{name}": content for name, content in carried.items()}
    members[bootstrap.INDEX] = json.dumps(index, indent=1, sort_keys=True).encode()
    members["__main__.py"] = Path(bootstrap.__file__).read_bytes()
    write_zip(path, members, epoch, prefix=_START)
    path.chmod(0o755)
    return path
