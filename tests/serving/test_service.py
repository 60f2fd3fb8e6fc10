"""The service in process: right answers, hot reload, agents, and nothing lost."""

import asyncio
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.arena.session import decide
from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch
from stratagem.games.corso import Corso
from stratagem.serving import BadRequest, Busy, Failed, Service, Settings, Turn
from stratagem.serving.ladder import rungs
from tests.serving.small import CHOICE, GAME, TITLE, network, positions, right_answers, save

QUICK = Settings(largest=4, wait_ms=1.0, agent_largest=4, watch_s=0.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save(path, 0)
    return path


@pytest.fixture(scope="module")
def service(file):
    with Service(QUICK) as service:
        service.add_model("small", file)
        yield service


@pytest.fixture(scope="module")
def asked():
    return positions(40)


def test_the_ladder_doubles_up_to_the_largest():
    assert rungs(1) == [1]
    assert rungs(8) == [1, 2, 4, 8]
    assert rungs(6) == [1, 2, 4, 6]
    assert rungs(64, factor=4) == [1, 4, 16, 64]


def test_answers_are_the_networks_whoever_asks(service, asked):
    views, legals, _ = asked
    logits, values = right_answers(0, views, legals)

    async def together():
        return await asyncio.gather(
            *(service.evaluate("small", view, legal) for view, legal in zip(views, legals, strict=True))
        )

    with ThreadPoolExecutor(8) as threads:
        blocking = list(
            threads.map(lambda pair: service.evaluate_now("small", *pair), zip(views, legals, strict=True))
        )
    for answers in (asyncio.run(together()), blocking):
        for index, answer in enumerate(answers):
            np.testing.assert_allclose(answer.logits, logits[index], atol=1e-3)
            np.testing.assert_allclose(answer.values, values[index], atol=1e-3)
            assert answer.policy.sum() == pytest.approx(1, abs=1e-5)
            assert not answer.policy[~legals[index]].any()
    told = json.loads(json.dumps(service.metrics()))["models"]["small"]
    assert told["answered"] >= 80
    assert told["mean_batch"] > 1
    assert 0 < told["batch_fill"] <= 1
    assert told["queue_depth"] == told["failed"] == 0


def test_equal_questions_are_computed_once(service, asked):
    runner = service.models()["small"]
    batch = runner([(asked[0][0], asked[1][0])] * 3 + [(asked[0][0], ~np.eye(9, dtype=bool)[0])])
    assert batch.distinct == 2
    assert batch.slots == 2
    np.testing.assert_array_equal(batch.answers[0].logits, batch.answers[2].logits)
    assert np.isneginf(batch.answers[3].logits[0])


def test_a_wrong_question_is_refused_by_name(service, asked):
    view, legal = asked[0][0], asked[1][0]
    for field, message, question in (
        ("model", "no model is called 'smal'; did you mean 'small'", ("smal", view, legal)),
        ("view", r"uint8\[3, 3, 5\], got uint8\[2, 3, 5\]", ("small", view[:2], legal)),
        ("view", "got float64", ("small", view.astype(float), legal)),
        ("legal", r"bool\[9\], got bool\[8\]", ("small", view, legal[:8])),
        ("legal", "no action", ("small", view, np.zeros(9, bool))),
    ):
        with pytest.raises(BadRequest, match=message) as refused:
            service.evaluate_now(*question)
        assert refused.value.field == field


def test_a_full_service_says_busy_and_a_cancelled_caller_leaves(file, asked):
    with Service(Settings(largest=1, wait_ms=0.0, queue=1, batches=1, watch_s=0.0)) as service:
        service.add_model("small", file)
        gate, entered = threading.Event(), threading.Event()
        lane = service._models["small"]
        plain = lane.runner

        class Slow:
            largest, game = 1, plain.game

            def __call__(self, questions):
                entered.set()
                assert gate.wait(20)
                return plain(questions)

        lane.runner = Slow()

        async def scene():
            question = ("small", asked[0][0], asked[1][0])
            first = asyncio.ensure_future(service.evaluate(*question))
            await asyncio.to_thread(entered.wait, 20)
            second = asyncio.ensure_future(service.evaluate(*question))
            await asyncio.sleep(0)
            with pytest.raises(Busy):
                await service.evaluate(*question)
            second.cancel()
            await asyncio.wait({second})
            third = asyncio.ensure_future(service.evaluate(*question))
            await asyncio.sleep(0)
            gate.set()
            return await asyncio.gather(first, third)

        assert len(asyncio.run(scene())) == 2
        told = lane.as_json()
        assert (told["answered"], told["busy"], told["cancelled"]) == (2, 1, 1)


def test_weights_change_under_load_and_nothing_is_lost(tmp_path, asked):
    views, legals, _ = asked
    file = tmp_path / "hot.safetensors"
    save(file, 0)
    right = {seed: right_answers(seed, views, legals) for seed in (0, 1)}
    with Service(QUICK) as service:
        service.add_model("hot", file)
        stop = asyncio.Event()
        seen = {}

        async def client(number):
            asked, index = 0, number
            while not stop.is_set():
                answer = await service.evaluate("hot", views[index], legals[index])
                logits, values = right[(answer.version + 1) % 2]  # version 1 is seed 0, and so in turn
                np.testing.assert_allclose(answer.logits, logits[index], atol=1e-3)
                np.testing.assert_allclose(answer.values, values[index], atol=1e-3)
                seen[answer.version] = seen.get(answer.version, 0) + 1
                asked, index = asked + 1, (index + 1) % len(views)
            return asked

        async def scene():
            clients = [asyncio.ensure_future(client(number)) for number in range(12)]
            for number in range(1, 6):
                await asyncio.sleep(0.02)
                save(file, number % 2)
                assert await asyncio.wrap_future(service.reload("hot")) == number + 1
            await asyncio.sleep(0.02)
            stop.set()
            return sum(await asyncio.gather(*clients))

        asked = asyncio.run(scene())
        told = service.metrics()["models"]["hot"]
    assert told["answered"] == asked == sum(seen.values())
    assert told["failed"] == told["late"] == told["cancelled"] == told["busy"] == 0
    assert told["reloads"] == 5
    assert len(seen) >= 3


def test_a_file_that_does_not_fit_leaves_the_old_weights(tmp_path, asked):
    file = tmp_path / "model.safetensors"
    save(file, 0)
    with Service(QUICK) as service:
        service.add_model("model", file)
        before = service.evaluate_now("model", asked[0][0], asked[1][0])
        whole = file.read_bytes()
        broken = bytearray(whole)
        broken[-5] ^= 255

        def other_game():
            save(file, 0, game=Corso(4, 3))

        def not_finite():
            from stratagem.networks.weights import save_weights

            save_weights(file, jax.tree.map(lambda leaf: leaf * np.nan, network(0)), CHOICE, [GAME], {})

        for spoil, error, words in (
            (lambda: file.write_bytes(whole[: len(whole) // 2]), DamagedFile, "damaged"),
            (lambda: file.write_bytes(bytes(broken)), DamagedFile, "checksum"),
            (file.unlink, DamagedFile, "no such file"),
            (other_game, RulesetMismatch, "trained for corso:width=4"),
            (not_finite, DamagedFile, "not finite"),
        ):
            spoil()
            with pytest.raises(error, match=words):
                service.reload("model").result()
            told = service.metrics()["models"]["model"]
            assert words in told["last_error"]
            assert told["version"] == 1
            after = service.evaluate_now("model", asked[0][0], asked[1][0])
            np.testing.assert_array_equal(after.logits, before.logits)
        save(file, 3, "global:channels=6,blocks=1")  # another network is compiled anew
        assert service.reload("model").result() == 2
        assert service.metrics()["models"]["model"]["last_error"] is None
        assert not np.allclose(service.evaluate_now("model", asked[0][0], asked[1][0]).values, before.values)


def test_a_changed_file_is_noticed(tmp_path, asked):
    file = tmp_path / "watched.safetensors"
    save(file, 0)
    with Service(Settings(largest=1, watch_s=0.01)) as service:
        service.add_model("watched", file)
        save(tmp_path / "next", 1)
        os.replace(tmp_path / "next", file)
        while service.evaluate_now("watched", asked[0][0], asked[1][0]).version == 1:
            time.sleep(0.01)
        answer = service.evaluate_now("watched", asked[0][0], asked[1][0])
    np.testing.assert_allclose(answer.values, right_answers(1, asked[0], asked[1])[1][0], atol=1e-3)


@pytest.mark.parametrize("choice", ["random", "mm:depth=2,temperature=0.5"])
def test_served_agents_play_as_they_do_in_a_match(service, asked, choice):
    agent = make_agent(choice, GAME)
    for index in range(6):
        view, legal, state = (part[index] for part in asked)
        seat = int(state.mover)
        expected = decide(agent, (), view, legal, 5, seat, index)
        turn = Turn(state if index % 2 else GAME.write(jax.tree.map(np.asarray, state)), seed=5, turn=index)
        assert service.act_now(choice, TITLE, turn) == expected
    assert f"{GAME.spec.title}|{choice}" in service.metrics()["agents"]


def test_a_worker_that_dies_fails_its_question_and_is_replaced(service, asked):
    choice, turn = "mm:depth=2,temperature=0.5", Turn(asked[2][0], seed=1)
    expected = service.act_now(choice, TITLE, turn)
    for process in service._workers._pool._processes.values():
        process.kill()
        process.join()
    with pytest.raises(Failed, match="died; ask again"):
        service.act_now(choice, TITLE, turn)
    assert service.act_now(choice, TITLE, turn) == expected


def test_agents_with_served_weights_change_with_them(tmp_path, asked):
    file = tmp_path / "weights.safetensors"
    save(file, 0)
    states = asked[2]
    with Service(Settings(largest=1, agent_largest=1, watch_s=0.0)) as service:
        service.add_model("mine", file)

        def moves():
            return [service.act_now("net", TITLE, Turn(state), model="mine") for state in states]

        def likeliest(seed):
            return right_answers(seed, asked[0], asked[1])[0].argmax(axis=1).tolist()

        assert moves() == likeliest(0)
        save(file, 1)
        service.reload("mine").result()
        assert moves() == likeliest(1)
        assert likeliest(0) != likeliest(1)


def test_a_wrong_turn_is_refused_by_name(service, asked):
    state = asked[2][0]
    other = 1 - int(state.mover)
    for field, message, game, agent, turn in (
        ("position", "board of 3 rows", TITLE, "random", Turn("OO/O")),
        ("state", "3 arrays, got 1", TITLE, "random", Turn([state.marbles])),
        ("seat", "seat is 0 to 1", TITLE, "random", Turn(state, seat=2)),
        ("seat", "not to move", TITLE, "random", Turn(state, seat=other)),
        ("seat", "not to move", TITLE, "mm:depth=2,temperature=0.5", Turn("aaa/aab/bbb 1")),
        ("seed", "seed is 0", TITLE, "random", Turn(state, seed=-1)),
        ("agent", "no agent is called 'randon'", TITLE, "randon", Turn(state)),
        ("agent", "remembers the game", "generals:width=6,height=6", "cascade", Turn(state)),
        ("game", "no game is called 'chess'", "chess", "random", Turn(state)),
    ):
        with pytest.raises(BadRequest, match=message) as refused:
            service.act_now(agent, game, turn)
        assert refused.value.field == field


def test_settings_and_names_are_checked(service, file):
    with pytest.raises(BadOption, match="largest is 1 or more"):
        Settings(largest=0)
    with pytest.raises(BadOption, match="wait_ms"):
        Settings(wait_ms=float("nan"))
    with pytest.raises(BadOption, match="called 'small' already"):
        service.add_model("small", file)
