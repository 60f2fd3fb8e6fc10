"""Tournaments: fair schedules, games that depend on nothing but their seed, logs that survive."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.arena.match import play_games
from stratagem.arena.report import standing, write_report
from stratagem.arena.schedule import fixtures
from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch
from stratagem.games import make_game

SMALL = Tournament("corso:width=3,height=3", ("random", "greedy", "mm:depth=2"), games=6)


def test_seats_rotate_and_a_rotation_shares_its_seed():
    schedule = fixtures(["a", "b", "c"], 2, games=4, seed=0, mode="round-robin")
    assert len(schedule) == 3 * 4
    for first, second in zip(schedule[::2], schedule[1::2], strict=True):
        assert first.players == second.players[::-1]
        assert first.seed == second.seed
    assert len({fixture.seed for fixture in schedule}) == 6


def test_a_gauntlet_is_the_first_against_the_rest():
    schedule = fixtures(["a", "b", "c"], 2, games=2, seed=0, mode="gauntlet")
    assert {frozenset(fixture.players) for fixture in schedule} == {frozenset({0, 1}), frozenset({0, 2})}


def test_four_seats_are_filled_by_two_entrants():
    schedule = fixtures(["a", "b"], 4, games=4, seed=0, mode="round-robin")
    assert [sorted(fixture.players) for fixture in schedule] == [[0, 0, 1, 1]] * 4


def test_a_pair_plays_the_same_games_whoever_else_takes_part():
    two = fixtures(["a", "b"], 2, games=6, seed=3, mode="round-robin")
    three = [
        fixture for fixture in fixtures(["a", "b", "c"], 2, 6, 3, "round-robin") if 2 not in fixture.players
    ]
    assert [fixture.seed for fixture in two] == [fixture.seed for fixture in three]


def test_a_game_does_not_depend_on_what_is_played_beside_it():
    game = make_game("corso:width=4,height=4")
    agents = [make_agent(name, game) for name in ("greedy", "mm:depth=2,temperature=1")]
    seatings, seeds = [[0, 1], [1, 0], [0, 1], [1, 0], [0, 1]], [5, 5, 6, 6, 7]
    together = play_games(game, agents, seatings, seeds, record=True)
    for i in range(len(seeds)):
        alone = play_games(game, agents, [seatings[i]], [seeds[i]], record=True)[0]
        assert alone.actions == together[i].actions
        assert alone.returns == together[i].returns


def test_an_agent_that_fouls_loses_the_game_and_it_is_counted():
    from dataclasses import dataclass
    from typing import Any, ClassVar

    from stratagem.agents.agent import Forgetful

    @dataclass(frozen=True)
    class Cheat(Forgetful):
        game: Any
        traceable: ClassVar[bool] = False

        def act(self, memory, view, legal, key):
            return int(np.flatnonzero(~legal)[0]) if (~legal).any() else 0

    game = make_game("corso:width=3,height=3")
    played = play_games(game, [make_agent("random", game), Cheat(game)], [[0, 1], [1, 0]], [1, 2])
    for one in played:
        cheat = one.seating.index(1)
        if one.fouls:
            assert one.fouls == (cheat,)
            assert one.returns[cheat] == -1
    assert sum(bool(one.fouls) for one in played) >= 1


def test_memory_reaches_the_agent_that_it_belongs_to():
    """An agent that plays cell t on its t-th turn needs to remember how often it has moved."""
    from dataclasses import dataclass
    from typing import Any, ClassVar

    import jax.numpy as jnp

    @dataclass(frozen=True)
    class Counter:
        game: Any
        first: int = 0
        traceable: ClassVar[bool] = True

        def memory(self):
            return jnp.int32(self.first)

        def act(self, memory, view, legal, key):
            return memory

        def remember(self, memory, view, action):
            return memory + (action >= 0)

    game = make_game("corso:width=8,height=1")
    played = play_games(game, [Counter(game, 0), Counter(game, 4)], [[0, 1], [1, 0]], [1, 2], record=True)
    assert [[max(turn) for turn in one.actions] for one in played] == [
        [0, 4, 1, 5, 2, 6, 3, 7],
        [4, 0, 5, 1, 6, 2, 7, 3],
    ]


def test_games_of_all_pairs_side_by_side_are_the_same_games(tmp_path):
    def played(name, **how):
        results = run_tournament(SMALL, tmp_path / name, workers=1, **how)
        return [(result.players, result.seed, result.returns, result.turns) for result in results]

    assert played("mixed", mixed=True, together=5) == played("pairs")


def test_results_are_kept_and_not_played_again(tmp_path):
    log = tmp_path / "results.jsonl"
    first = run_tournament(SMALL, log, workers=1)
    written = log.read_bytes()
    assert run_tournament(SMALL, log, workers=1) == first
    assert log.read_bytes() == written
    more = Tournament(SMALL.game, SMALL.entrants, games=8)
    longer = run_tournament(more, log, workers=1)
    assert [result for result in longer if result.number < 6] == first


def outcome_of(results):
    """All but the thinking times."""
    return [(r.table, r.number, r.players, r.seed, r.returns, r.turns) for r in results]


@pytest.mark.parametrize("kept", [0, 1, 7, 8])
def test_a_log_cut_anywhere_leads_to_the_same_table(tmp_path, kept):
    whole = run_tournament(SMALL, tmp_path / "whole.jsonl", workers=1)
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:kept]) + (lines[kept][:20] if kept else b""))
    again = run_tournament(SMALL, cut, workers=1)
    assert outcome_of(again) == outcome_of(whole)
    one, other = (standing(SMALL, results).as_json() for results in (whole, again))
    assert one == other


def children_of(parent):
    """The processes that a process has started (Linux)."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def alive(pid):
    """Whether a process runs; one that ended and that nobody has buried yet does not."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


def test_a_killed_tournament_goes_on_where_it_was(tmp_path):
    words = ["corso:width=4,height=4", "random", "mm:depth=1", "mm:depth=2", "--games", "60", "--json"]
    command = [sys.executable, "-m", "stratagem.cli.main", "tournament", *words]
    whole = subprocess.run(
        [*command, "--out", str(tmp_path / "a")], check=True, capture_output=True, text=True, timeout=300
    )
    log = tmp_path / "b" / "results.jsonl"
    victim = subprocess.Popen(
        [*command, "--out", str(tmp_path / "b")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and victim.poll() is None:
        if log.exists() and log.read_bytes().count(b"\n") > 20:
            break
        time.sleep(0.005)
    children = children_of(victim.pid)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    while any(alive(child) for child in children):
        assert time.monotonic() < deadline + 30, "workers outlived the tournament"
        time.sleep(0.1)
    played = log.read_bytes().count(b"\n")
    assert played > 20
    again = subprocess.run(
        [*command, "--out", str(tmp_path / "b")], check=True, capture_output=True, text=True, timeout=300
    )
    one, other = json.loads(whole.stdout), json.loads(again.stdout)
    one.pop("report"), other.pop("report")
    assert one == other


def test_worker_processes_and_one_process_play_the_same_games(tmp_path):
    tournament = Tournament("corso:width=3,height=3", ("random", "mm:depth=1", "mm:depth=2"), games=40)
    one = run_tournament(tournament, tmp_path / "one.jsonl", workers=1)
    two = run_tournament(tournament, tmp_path / "two.jsonl", workers=2)
    assert outcome_of(one) == outcome_of(two)


def test_a_log_of_another_tournament_is_refused_and_left_alone(tmp_path):
    log = tmp_path / "results.jsonl"
    run_tournament(SMALL, log, workers=1)
    before = log.read_bytes()
    with pytest.raises(RulesetMismatch, match="played under ruleset"):
        run_tournament(Tournament("corso:width=4,height=3", SMALL.entrants, 6), log)
    with pytest.raises(DamagedFile, match="another tournament"):
        run_tournament(Tournament(SMALL.game, SMALL.entrants, 6, seed=1), log)
    log.write_bytes(before.replace(b'"returns"', b'"retruns"', 1))
    with pytest.raises(DamagedFile, match="line 2 is no result"):
        run_tournament(SMALL, log)


@pytest.mark.parametrize(
    ("entrants", "games", "message"),
    [
        (("random",), 1, "at least two"),
        (("random", "random"), 1, "once"),
        (("random", "greedy"), 0, "one game"),
    ],
)
def test_impossible_tournaments_are_refused(entrants, games, message):
    with pytest.raises(BadOption, match=message):
        Tournament("corso", entrants, games)


def test_the_report_shows_everybody_with_pictures(tmp_path):
    results = run_tournament(SMALL, tmp_path / "results.jsonl", workers=1)
    report = write_report(standing(SMALL, results), tmp_path)
    text = report.read_text()
    assert all(f"`{name}`" in text for name in SMALL.entrants)
    for picture in ("ratings.png", "crosstable.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
        assert picture in text


def test_three_players_are_rated_by_every_pair_of_seats(tmp_path):
    tournament = Tournament("corso:width=3,height=3,players=3", ("random", "greedy"), games=9)
    results = run_tournament(tournament, tmp_path / "results.jsonl", workers=1)
    assert all(abs(sum(result.returns)) < 1e-5 for result in results)
    duels = [duel for result in results for duel in result.duels()]
    assert len(duels) == 9 * 2  # of three pairs of seats one is held twice by the same entrant
