"""Dependencies between roles: which role must be ready before another one starts."""

from collections.abc import Mapping, Sequence


def find_cycle(dependencies: Mapping[str, Sequence[str]]) -> list[str]:
    """Roles that wait for each other, each for the next one; empty if there is no cycle."""
    done: set[str] = set()
    for start in dependencies:
        path: list[str] = []
        waiting = [(start, 0)]
        while waiting:
            name, at = waiting.pop()
            if at == 0:
                if name in path:
                    return path[path.index(name) :]
                if name in done or name not in dependencies:
                    continue
                path.append(name)
            if at < len(dependencies[name]):
                waiting += [(name, at + 1), (dependencies[name][at], 0)]
            else:
                done.add(path.pop())
    return []
