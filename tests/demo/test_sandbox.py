"""The demo on a cluster in one process: all scenarios in simulated time, and once as a process."""

import asyncio
import io
import signal
import time
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest
from rich.console import Console

from demo.cli import ALL, NEXT, SCENARIOS, Scenario
from demo.sandbox_stage import SandboxStage
from demo.screen import Screen
from intact.sandbox import run
from tests.support.demo_process import ROOT, Json, check_drain, check_rollout, demo

BOTH, ROLLOUT = "both drains", "rollout, briefly"
PLAYS: dict[str, Scenario] = {**SCENARIOS, BOTH: ALL[0], ROLLOUT: ALL[1]}


@cache
def played(name: str, **console: Any) -> tuple[list[Json], str, float]:
    """What a scenario returns, what it prints, and how many seconds of its own time it takes."""
    printed = io.StringIO()

    async def whole() -> tuple[list[Json], float]:
        clock = asyncio.get_running_loop().time
        screen = Screen(Console(file=printed, width=80, **console), clock)
        return await PLAYS[name](SandboxStage(screen.say), screen, keep=False), clock()

    summaries, seconds = run(whole(), seed=1, max_time=300)
    return summaries, printed.getvalue(), seconds


def test_both_drains_take_one_group_at_a_time_with_intact_and_all_at_once_without() -> None:
    (pub, pdb), printed, _ = played(BOTH)
    assert (pub["scenario"], pdb["scenario"]) == ("drain", "pdb")
    check_drain(pub)
    check_drain(pdb)
    assert "2 of 3 groups are available; the budget llm requires 2" in printed
    assert "2 of 3 groups are available; the disruption budget llm requires 2" in printed


@pytest.mark.parametrize("name", ["drain", "pdb"])
def test_each_kind_of_budget_has_a_scenario(name: str) -> None:
    [summary], _, _ = played(name)
    assert summary["scenario"] == name
    check_drain(summary)


def test_a_rollout_stays_within_its_limits_stalls_and_goes_back() -> None:
    [summary], printed, _ = played("rollout")
    check_rollout(summary["rollout"])
    assert summary["failure"]["updated"] == "3/12"
    assert summary["undo"]["updated"] == "12/12"
    assert "stalled" in printed


def test_the_refused_are_asked_for_again_after_five_seconds() -> None:
    """Of three groups, the last goes at the third attempt."""
    (pub, pdb), _, _ = played(BOTH)
    for summary in (pub, pdb):
        assert 10 <= summary["with_intact"]["seconds"] < 12
        assert summary["without_intact"]["seconds"] < 2


def test_all_of_it_takes_less_than_half_a_minute() -> None:
    """In the demo's own time, which is real time for those who watch it."""
    assert sum(played(name)[2] for name in (BOTH, ROLLOUT)) < 25


def test_a_terminal_shows_pictures_that_change_in_place_and_then_the_table() -> None:
    _, printed, _ = played(BOTH, force_terminal=True, color_system=None)
    assert "╭─ kubectl drain node-0, with Intact" in printed
    assert "╭─ kubectl drain node-0, without Intact" in printed
    table = printed.rpartition("╯")[2].splitlines()
    rows = [" ".join(row.split()) for row in table if row.strip()]
    shown = (
        (ROOT / "README.md").read_text().partition("compares the two drains:")[2].split("```")[1]
    )
    documented = [" ".join(row.split()) for row in shown.splitlines() if row.strip()]
    assert rows[-9:-1] == documented[:-1]
    assert "groups down at worst 1 of 3 3 of 3" in documented
    assert rows[-1].startswith("drained after 11.")


def test_without_a_terminal_there_are_only_lines() -> None:
    for name in (BOTH, ROLLOUT):
        _, printed, _ = played(name)
        assert "\x1b" not in printed
        assert "╭" not in printed


def test_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if "will retry after" in line:
                break
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130, "".join(seen) + rest
    assert "Traceback" not in rest
    assert time.monotonic() - begun < 30
    assert not list(tmp_path.iterdir())


def test_what_needs_a_real_cluster_says_so(tmp_path: Path) -> None:
    with demo(tmp_path, "--keep") as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--keep needs --kubernetes" in output


def test_the_page_is_offered_and_served(tmp_path: Path) -> None:
    assert any("make run ARGS=page" in line and "open a page" in line for line in NEXT)
    with demo(tmp_path, "page") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("open http://127.0.0.1:"), line
        directly = build_opener(ProxyHandler({}))
        with directly.open(line.removeprefix("open ").strip(), timeout=30) as answer:
            assert b"pub/llm" in answer.read()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert rest == "stopped\n"
    assert process.returncode == 0


@pytest.mark.parametrize("option", ["--kubernetes", "--json"])
def test_the_page_goes_without_other_options(tmp_path: Path, option: str) -> None:
    with demo(tmp_path, "page", option) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "page is of the cluster in this process" in output
