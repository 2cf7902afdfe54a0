"""Environments for controllers that learn, with the interfaces of Gymnasium and PettingZoo.

    import bentpipe as bp

    env = bp.gym.Env("geo")  # the first flow of the scenario is the agent's
    env = bp.gym.VectorEnv(bp.gym.aurora(), 64, threads=2)
    observations, info = env.reset(seed=1)
    observations, rewards, terminations, truncations, info = env.step(env.action_space.sample())

`task.py` says what an agent is asked to do: scenario, random ranges, observation, action, reward.
`domain.py` draws the ranges, `batch.py` advances the runs of the simulator, `env.py` and `parallel.py` are
the classes of the two interfaces, and `policy.py` is a controller that decides by a policy that was trained.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)
