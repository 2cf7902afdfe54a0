"""Trains a policy that sends over a GEO link with losses, and writes it for `bentpipe compare`.

    pip install stable-baselines3
    python examples/train_policy.py --out .          # geo_policy.json and geo_policy.py; minutes on 2 cores
    bentpipe compare --link geo --ber 1e-6 --cc cubic,geo_policy.py:GeoPolicy
    bentpipe kernel run geo_policy.py:GeoPolicy -- COMMAND                   # real TCP, as root (docs/gym.md)

The policy is a network of two hidden layers. It is trained by PPO (stable-baselines3) on links of 2 to 20
Mbit/s, with 240 to 280 ms one way, buffers from half a bandwidth-delay product to two, and up to 1 % of the
packets lost. Its reward is its share of the link's rate, less parts of the delay and of the losses.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import bentpipe as bp

OBSERVE = ("latency_gradient", "latency_ratio", "send_ratio", "throughput_ratio", "rate_ratio", "loss_share")
HISTORY = 4
SCALE = 0.5
GEO = {
    "duration": "90 s",
    "link": {
        "geo": {
            "rate": "10 Mbit/s",
            "delay": "250 ms",
            "queue": {"kind": "drop-tail", "limit": "1 bdp"},
            "loss": {"kind": "packet-error", "rate": 0.001},
        }
    },
    "flow": [{"name": "learned", "cc": "reno", "path": ["geo"]}],
}
TASK = bp.gym.Task(
    GEO,
    domain={
        "link.geo.rate": {"log": ("2 Mbit/s", "20 Mbit/s")},
        "link.geo.delay": ("240 ms", "280 ms"),
        "link.geo.queue.limit": ["0.5 bdp", "1 bdp", "2 bdp"],
        "link.geo.loss.rate": {"log": (1e-5, 1e-2)},
    },
    observe=OBSERVE,
    history=HISTORY,
    reward={"throughput_share": 1.0, "rtt_ratio": -0.3, "loss_share": -1.0},
    scale=SCALE,
    start=(0.01, 0.5),
    bounds=(0.005, 3.0),
    steps=None,
)

CONTROLLER = '''"""The policy of geo_policy.json, trained by examples/train_policy.py, as a controller."""

from bentpipe.gym import PolicyController


class GeoPolicy(PolicyController):
    """Sets its rate by a network that was trained over GEO links with losses."""

    file = "geo_policy.json"
'''


class Links(VecEnv):
    """A `bp.gym.VectorEnv` as stable-baselines3 wants it."""

    def __init__(self, task: bp.gym.Task, count: int) -> None:
        self.links = bp.gym.VectorEnv(task, count, autoreset=AutoresetMode.SAME_STEP)
        super().__init__(count, self.links.single_observation_space, self.links.single_action_space)

    def reset(self) -> np.ndarray:
        return self.links.reset(seed=self._seeds[0])[0]

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        seen, rewards, complete, cut_off, info = self.links.step(self.actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(complete | cut_off):
            infos[i] = {"terminal_observation": info["final_obs"][i], "TimeLimit.truncated": not complete[i]}
        return seen, rewards, complete | cut_off, infos

    def close(self) -> None:
        self.links.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.links, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


def policy_of(model: PPO) -> bp.gym.Policy:
    """The mean of the trained policy: its hidden layers, and the layer of the action."""
    net = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    layers = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    tables = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers]
    numbers = [(weights.round(5).tolist(), biases.round(5).tolist()) for weights, biases in tables]
    return bp.gym.Policy(numbers, list(OBSERVE), HISTORY, multiple=0.5, scale=SCALE, most=TASK.most)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a policy for GEO links with losses.")
    parser.add_argument(
        "--out", type=Path, default=Path(), help="the folder of geo_policy.json and geo_policy.py"
    )
    parser.add_argument("--steps", type=int, default=300_000, help="steps of training")
    parser.add_argument("--environments", type=int, default=64, help="links at a time")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)  # the network is small, and the links have the other processors
    links = Links(TASK, given.environments)
    model = PPO(
        "MlpPolicy",
        links,
        seed=given.seed,
        n_steps=64,
        batch_size=1024,
        n_epochs=5,
        gamma=0.99,
        learning_rate=7e-4,
        policy_kwargs={"net_arch": [32, 16], "log_std_init": -0.7},
        device="cpu",
        verbose=1,
    )
    began = time.monotonic()
    model.learn(given.steps)
    took = time.monotonic() - began
    print(f"{given.steps:,} steps in {took:.0f} s, {given.steps / took:,.0f} a second")
    given.out.mkdir(parents=True, exist_ok=True)
    policy_of(model).save(given.out / "geo_policy.json")
    (given.out / "geo_policy.py").write_text(CONTROLLER, encoding="utf-8")


if __name__ == "__main__":
    main()
