"""`python -m tests.simulation --seeds N`: run the simulation with many seeds; the one of native
budgets in groups with a twentieth of them, and the one of RoleBasedGroups with a tenth."""

import argparse
import sys
import time
from collections import Counter

from tests.simulation.many import simulate_all, simulate_all_groups, simulate_all_rbg

EVERY = 20
"""So many runs are told of at once, and one of so many seeds is also run with groups."""


EVERY_RBG = 10
"""One of so many seeds is also run with RoleBasedGroups: 2,000 of the 20,000 of `make soak`."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--start", type=int, default=0, help="the first (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--only-rbg", action="store_true", help="only RoleBasedGroups, with every seed"
    )
    parser.add_argument(
        "--without-pub", action="store_true", help="only the twentieth and the tenth of the seeds"
    )
    options = parser.parse_args()
    seeds = range(options.start, options.start + options.seeds)
    counts: Counter[str] = Counter()
    failed = 0
    begun = time.monotonic()
    first = range(0) if options.only_rbg or options.without_pub else seeds
    results = simulate_all(first, processes=options.processes)
    for done, result in enumerate(results, start=1):
        if isinstance(result, str):
            failed += 1
            sys.stdout.write(f"\n{result}\n")
        else:
            counts.update(result.counts)
            counts["steps"] += result.steps
        if done % EVERY == 0 or done == len(seeds):
            took = time.monotonic() - begun
            sys.stdout.write(f"\r{done} of {len(seeds)}, {failed} failed, {took:.0f} s")
            sys.stdout.flush()
    sys.stdout.write("\n")
    chosen = seeds if options.only_rbg else seeds[::EVERY_RBG]
    for result in simulate_all_rbg(chosen, processes=options.processes):
        counts["courses of RoleBasedGroups"] += 1
        if isinstance(result, str):
            failed += 1
            sys.stdout.write(f"{result}\n")
        else:
            counts.update({f"RoleBasedGroups: {what}": n for what, n in result.counts.items()})
    in_groups = range(0) if options.only_rbg else seeds[::EVERY]
    for result in simulate_all_groups(in_groups, options.processes):
        counts["courses of groups"] += 1
        if result:
            failed += 1
            sys.stdout.write(f"{result}\n")
    for what, number in sorted(counts.items()):
        sys.stdout.write(f"{what:<40}{number:>12}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
