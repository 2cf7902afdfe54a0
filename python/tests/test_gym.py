"""Environments for agents: the interfaces, the draws, and the same numbers for any number of threads."""

from __future__ import annotations

import importlib
import json
import pickle
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bentpipe as bp

pytest.importorskip("gymnasium", reason="the extra gym is not installed")

import gymnasium  # noqa: E402
from gymnasium.envs import registration  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

GEO: dict[str, Any] = {
    "duration": "30 s",
    "link": {
        "geo": {
            "rate": "10 Mbit/s",
            "delay": "250 ms",
            "queue": {"kind": "drop-tail", "limit": "400 packets"},
            "loss": {"kind": "packet-error", "rate": 0.001},
        }
    },
    "flow": [
        {"name": "mine", "cc": "reno", "path": ["geo"]},
        {"cc": "cubic", "path": ["geo"], "start": "5 s"},
    ],
}
DOMAIN = {
    "link.geo.rate": ("1 Mbit/s", "50 Mbit/s"),
    "link.geo.delay": {"log": ("10 ms", "300 ms")},
    "link.geo.queue.limit": ("50 packets", "500 packets"),
    "link.geo.loss.rate": (0.0, 0.02),
    "flow.1.cc": ["cubic", "bbr"],
}


def task(**changes: Any) -> bp.gym.Task:
    return bp.gym.Task(GEO, **{"domain": DOMAIN, "steps": 20, **changes})


@pytest.mark.parametrize("step", ["0.5 rtt", "ack"])
def test_gymnasium_finds_nothing_to_object_to_in_datagrams(step: str) -> None:
    check_env(bp.gym.Env(bp.gym.aurora(step=step, steps=20, most=1.0)), skip_render_check=True)


def test_aurora_sends_datagrams_and_learns_of_each_loss_once() -> None:
    """What is sent is acknowledged, lost or in flight: nothing is sent again."""
    env = bp.gym.Env(bp.gym.aurora(domain={}, steps=300))
    _, info = env.reset(seed=3)
    sent = acked = lost = 0.0
    over = False
    while True:
        packets = info["throughput_pps"] * info["interval_s"]
        acked += packets
        sent += info["send_ratio"] * packets
        lost += packets * info["loss_share"] / (1 - info["loss_share"])
        if over:
            break
        _, _, _, over, info = env.step(np.zeros(1, np.float32))
    assert sent - acked - lost == pytest.approx(info["in_flight_segments"], abs=1e-6 * sent)
    assert info["cwnd_segments"] == 0
    assert lost / sent == pytest.approx(0.01, abs=0.003)
    slower = bp.gym.Env(bp.gym.aurora(domain={}, steps=300, transport="tcp"))
    assert slower.reset(seed=3)[1]["cwnd_segments"] > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transport": "udp"}, 'transport: "datagrams" or "tcp", not \'udp\''),
        ({"transport": "datagrams", "acts": "window"}, "a sender of datagrams has no window"),
        ({"transport": "datagrams"}, "for a scenario of one flow, and this has 2"),
    ],
)
def test_a_transport_that_cannot_be_played_is_refused_with_a_reason(
    changes: dict[str, str], message: str
) -> None:
    with pytest.raises(bp.ScenarioError, match=re.escape(message)):
        bp.gym.Env(task(**changes)).reset(seed=1)


@pytest.mark.parametrize(("step", "acts"), [("0.5 rtt", "rate"), ("100 ms", "window"), ("ack", "both")])
def test_gymnasium_finds_nothing_to_object_to(step: str, acts: str) -> None:
    check_env(bp.gym.Env(task(step=step, acts=acts)), skip_render_check=True)


@pytest.mark.parametrize("action", [[np.nan], [0.1, 0.2], []])
def test_an_action_that_is_none_is_refused(action: list[float]) -> None:
    env = bp.gym.Env("geo", steps=10)
    env.reset(seed=1)
    with pytest.raises(bp.ScenarioError, match="it must have 1 values, none of them NaN"):
        env.step(np.array(action))


def test_an_episode_is_repeated_by_its_seed_and_differs_from_the_next() -> None:
    env = bp.gym.Env(task())
    episodes = []
    for seed in (1, None, 1):
        seen, info = env.reset(seed=seed)
        rows = [seen]
        for _ in range(20):
            seen, reward, terminated, truncated, info = env.step(np.array([0.3], np.float32))
            rows.append(seen)
        assert truncated and not terminated
        expected = 10 * info["throughput_pps"] - 1000 * info["rtt_mean_s"] - 2000 * info["loss_share"]
        assert reward == pytest.approx(expected, rel=1e-12)
        episodes.append(np.array(rows))
    assert np.array_equal(episodes[0], episodes[2])
    assert not np.array_equal(episodes[0], episodes[1])


def steps(env: bp.gym.VectorEnv, count: int) -> list[tuple[np.ndarray, ...]]:
    seen, _ = env.reset(seed=7)
    found: list[tuple[np.ndarray, ...]] = [(seen,)]
    for i in range(count):
        found.append(env.step(np.full((env.num_envs, 1), [0.5, -0.5][i % 2], np.float32))[:4])
    return found


def test_neither_threads_nor_the_number_of_environments_change_a_number() -> None:
    one, two, more = (
        steps(bp.gym.VectorEnv(task(), count, threads=threads), 50)
        for count, threads in ((3, 1), (3, 2), (5, 2))
    )
    for a, b, c in zip(one, two, more, strict=True):
        for x, y, z in zip(a, b, c, strict=True):
            assert np.array_equal(x, y)
            assert np.array_equal(x, z[:3])


def test_a_vector_of_environments_is_that_many_environments() -> None:
    """Across the end of an episode: the next begins with the step after, in place of it."""
    vector = bp.gym.VectorEnv(task(), 2)
    found = steps(vector, 24)
    for i in range(2):
        env = bp.gym.Env(task())
        seen, _ = env.reset(seed=7 + i)
        assert np.array_equal(found[0][0][i], seen)
        over = False
        for step, (observed, reward, terminated, truncated) in enumerate(found[1:]):
            if over:
                (seen, _), own, over = env.reset(), 0.0, False
            else:
                seen, own, complete, cut_off, _ = env.step(np.array([[0.5, -0.5][step % 2]], np.float32))
                over = complete or cut_off
            assert np.array_equal(observed[i], seen)
            assert (reward[i], terminated[i] or truncated[i]) == (own, over)
        assert step == 23


def test_an_episode_may_begin_within_the_step_that_ends_the_last() -> None:
    next_step, same_step = (
        bp.gym.VectorEnv(task(), 2, autoreset=mode)
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    )
    later, now = steps(next_step, 21), steps(same_step, 19)
    assert np.array_equal(now[19][0], later[19][0])
    seen, _, _, truncated, info = same_step.step(np.full((2, 1), -0.5, np.float32))
    assert truncated.all() and info["_final_obs"].all()
    assert np.array_equal(np.stack(info["final_obs"]), later[20][0])
    assert np.array_equal(seen, later[21][0])


def test_a_transfer_that_ends_terminates_the_episode() -> None:
    table = json.loads(json.dumps(GEO))
    table["flow"] = [
        {"name": "mine", "cc": "reno", "path": ["geo"], "traffic": {"kind": "bulk", "size": "200 kB"}}
    ]
    env = bp.gym.Env(table, start=0.5)
    env.reset(seed=1)
    taken = 0
    terminated = truncated = False
    while not (terminated or truncated):
        _, _, terminated, truncated, info = env.step(np.zeros(1, np.float32))
        taken += 1
    # 200 kB at 5 Mbit/s take 0.33 s, and 0.5 s for the last acknowledgement.
    assert terminated and taken <= 6


def test_draws_stay_in_their_ranges_and_keep_their_units() -> None:
    random = np.random.default_rng(1)
    found = [json.loads(task().draw(random)[0]) for _ in range(200)]
    rates = [int(table["link"]["geo"]["rate"].removesuffix(" bit/s")) for table in found]
    delays = [int(table["link"]["geo"]["delay"].removesuffix(" ns")) for table in found]
    limits = [int(table["link"]["geo"]["queue"]["limit"].removesuffix(" packets")) for table in found]
    assert 1e6 <= min(rates) < 4e6 and 46e6 < max(rates) <= 50e6
    assert 10e6 <= min(delays) and max(delays) <= 300e6
    assert 0.4 < np.mean(np.array(delays) < (10e6 * 300e6) ** 0.5) < 0.6  # half of the logarithms
    assert 50 <= min(limits) and max(limits) <= 500
    assert {table["flow"][1]["cc"] for table in found} == {"cubic", "bbr"}
    assert len({table["seed"] for table in found}) == 200
    assert GEO["link"]["geo"]["rate"] == "10 Mbit/s"


def test_any_shipped_scenario_is_an_environment() -> None:
    for name in ("leo-handover", "geo", "vsat"):
        env = bp.gym.Env(name, steps=5)
        env.reset(seed=1)
        _, _, _, truncated, info = [env.step(np.zeros(1, np.float32)) for _ in range(5)][-1]
        assert truncated and info["throughput_bps"] > 0, name


def test_a_wrong_task_is_refused_with_its_key() -> None:
    for changes, said in [
        ({"agents": ["yours"]}, "no flow called 'yours'; it has mine"),
        ({"agents": [7]}, "no flow 7"),
        ({"domain": {"link.geo.rate": ("1 Mbit/s", "2 s")}}, "link.geo.rate"),
        ({"domain": {"link.geo.rate": 5}}, "is no range"),
        ({"domain": {"link.geo.rtae": ("1 Mbit/s", "2 Mbit/s")}}, "rtae"),
        ({"observe": ["latency"]}, '"latency"'),
        ({"step": "half a second"}, "step"),
        ({"steps": 0}, "one step at least"),
        ({"acts": "both ways"}, "both ways"),
    ]:
        with pytest.raises(bp.ScenarioError, match=said):
            bp.gym.Env(GEO, **changes).reset(seed=1)


def test_a_reward_is_no_number_and_a_vector_has_environments() -> None:
    with pytest.raises(TypeError, match=r"or a function of the measures"):
        bp.gym.Env(GEO, reward=7)
    with pytest.raises(ValueError, match="one environment at least"):
        bp.gym.VectorEnv(GEO, 0)


def by_weights(measures: dict[str, Any]) -> Any:
    return 2.0 * measures["throughput_share"] - 0.5 * measures["rtt_ratio"]


def test_a_reward_may_be_a_function_of_the_measures() -> None:
    """It sees what the weights see, for one environment and for many, beyond the ends of episodes."""
    weights = {"throughput_share": 2.0, "rtt_ratio": -0.5}
    rewards = []
    for reward in (weights, by_weights):
        env = bp.gym.Env("geo", reward=reward, steps=5)
        env = pickle.loads(pickle.dumps(env))
        env.reset(seed=3)
        one = [env.step(np.array([0.5], np.float32))[1] for _ in range(5)]
        many = bp.gym.VectorEnv("geo", 3, reward=reward, steps=4)
        many.reset(seed=3)
        rewards.append((one, [many.step(np.full((3, 1), 0.5))[1].tolist() for _ in range(7)]))
    assert rewards[1][1] == [pytest.approx(row, rel=1e-12) for row in rewards[0][1]]
    assert rewards[1][0] == pytest.approx(rewards[0][0], rel=1e-12)
    assert rewards[1][1][4] == [0.0] * 3, "the step that begins an episode"


@pytest.mark.parametrize("wrong", [lambda measures: float("nan"), lambda measures: [1.0, 2.0]])
def test_a_function_that_gives_no_rewards_is_refused(wrong: Any) -> None:
    env = bp.gym.Env("geo", reward=wrong)
    env.reset(seed=1)
    with pytest.raises(bp.ScenarioError, match="reward: the function gave"):
        env.step(np.zeros(1))


def test_a_step_outside_an_episode_or_its_space_is_an_error() -> None:
    env = bp.gym.Env("geo", steps=2, most=0.3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))
    env.reset(seed=1)
    with pytest.raises(bp.ScenarioError, match=r"from -0.3 to 0.3"):
        env.step(np.array([0.31]))
    env.step(env.action_space.high)  # in float32 more than 0.3
    assert env.step(np.zeros(1))[3]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))
    env.reset()
    env.step(np.zeros(1))


def test_a_pickled_environment_is_the_same_one() -> None:
    env = bp.gym.Env(task())
    copy = pickle.loads(pickle.dumps(env))
    first, again = (one.reset(seed=3)[0] for one in (env, copy))
    assert np.array_equal(first, again)
    steps = [one.step(np.ones(1, np.float32))[1] for one in (env, copy)]
    assert steps[0] == steps[1]
    many = pickle.loads(pickle.dumps(bp.gym.VectorEnv(task(), 2, autoreset=AutoresetMode.SAME_STEP)))
    assert many.num_envs == 2 and many.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


def test_gymnasium_makes_environments_by_name() -> None:
    table = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, _, name = table["project"]["entry-points"]["gymnasium.envs"]["bentpipe"].partition(":")
    with registration.namespace("bentpipe"):
        getattr(importlib.import_module(module), name)()
    for of in ("Geo", "Meo", "Leo", "Aurora"):
        env = gymnasium.make(f"bentpipe/{of}-v0", steps=3)
        env.reset(seed=1)
        assert [env.step(env.action_space.sample())[3] for _ in range(3)] == [False, False, True], of


def test_pettingzoo_finds_nothing_to_object_to() -> None:
    pytest.importorskip("pettingzoo", reason="the extra gym is not installed")
    from pettingzoo.test import parallel_api_test

    parallel_api_test(bp.gym.ParallelEnv(task(agents=["mine", 1])), num_cycles=60)


def test_agents_of_one_run_share_its_link() -> None:
    pytest.importorskip("pettingzoo", reason="the extra gym is not installed")
    table = json.loads(json.dumps(GEO))
    del table["link"]["geo"]["loss"], table["flow"][1]["start"]
    env = bp.gym.ParallelEnv(
        table, agents=[0, 1], step="1 s", scale=0.5, start=0.4, steps=25, bounds=(0.05, 1.0)
    )
    seen, _ = env.reset(seed=1)
    assert set(seen) == {"mine", "agent-1"} == set(env.agents)
    for _ in range(25):
        up = {"mine": np.ones(1), "agent-1": np.zeros(1)}
        _, rewards, _, truncated, info = env.step(up)
    assert all(truncated.values()) and not env.agents
    # Rates of 1 and 0.4 over a full queue, and drop-tail hits the faster one more often than its share.
    assert 0.55 < info["mine"]["throughput_share"] < 0.75
    assert sum(one["throughput_share"] for one in info.values()) == pytest.approx(1, abs=0.02)
    assert info["mine"]["rtt_mean_s"] > 0.8  # the queue is full: 400 packets of 1.2 ms


def test_a_policy_of_a_file_controls_a_flow(tmp_path: Path) -> None:
    """One that climbs until its round-trip time grows, and one that does nothing."""
    up = bp.gym.Policy([([[-40.0]], [44.0])], ["rtt_ratio"], 1, scale=0.2, most=1.0)
    still = bp.gym.Policy([([[0.0]], [0.0])], ["rtt_ratio"], 1)
    for name, policy in (("up", up), ("still", still)):
        policy.save(tmp_path / f"{name}.json")
        assert bp.gym.Policy.load(tmp_path / f"{name}.json") == policy
    (tmp_path / "two.py").write_text(
        "from bentpipe.gym import PolicyController\n"
        "class Up(PolicyController):\n    file = 'up.json'\n"
        "class Still(PolicyController):\n    file = 'still.json'\n"
    )
    table = {**GEO, "flow": [{"cc": "reno", "path": ["geo"]}]}
    goodput = {
        name: bp.run(
            bp.Scenario.load(_saved(table, tmp_path), {"flow.0.cc": f"{tmp_path}/two.py:{name}"})
        ).flows["goodput_bps"][0]
        for name in ("Up", "Still")
    }
    # The initial window in a round trip is 10 segments in half a second.
    assert goodput["Still"] == pytest.approx(10 * 1460 * 8 / 0.5, rel=0.06)
    assert goodput["Up"] > 5e6


def _saved(table: dict[str, Any], folder: Path) -> Path:
    (folder / "geo.json").write_text(json.dumps(table))
    return folder / "geo.json"


def test_a_policy_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(bp.ScenarioError, match="a layer with 2 inputs"):
        bp.gym.Policy([([[1.0]], [0.0])], ["rtt_ratio"], 2)
    with pytest.raises(bp.ScenarioError, match="no controller can observe throughput_share"):
        bp.gym.Policy([([[1.0]], [0.0])], ["throughput_share"], 1)
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(bp.ScenarioError, match="wrong.json"):
        bp.gym.Policy.load(tmp_path / "wrong.json")


PAGE = (Path(__file__).parents[2] / "docs" / "gym.md").read_text(encoding="utf-8")


def test_the_page_works_as_printed(cli, monkeypatch, tmp_path: Path) -> None:
    """In an empty directory: files are written, and the rest is one session of Python and of a shell."""
    pytest.importorskip("pettingzoo", reason="the extra gym is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    typed = 0
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        named = re.match(r"# ([\w.-]+\.py)\n", text)
        if named:
            (tmp_path / named[1]).write_text(text)
        elif language == "python":
            exec(text, names)
        elif language == "sh":
            for line in text.splitlines():
                done = cli(*shlex.split(line)[1:])
                assert done.exit_code == 0, done.output
                typed += 1
    assert typed and names["terminated"] is not None


def test_the_page_has_every_measure() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.split("## What is measured")[1], re.MULTILINE))
    assert rows == {measure.name: measure.about for measure in bp.gym.measures().values()}
