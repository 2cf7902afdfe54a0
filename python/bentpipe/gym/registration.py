"""The environments that Gymnasium knows by name: `gymnasium.make("bentpipe/Geo-v0")`.

Gymnasium calls `register` when it is imported (the entry point `gymnasium.envs` of the package), so nothing
of the simulator is loaded here.
"""

from __future__ import annotations

from typing import Any


def register() -> None:
    """Names a link for each kind of orbit, and Aurora's task. Arguments of `make` are those of `Env`."""
    import gymnasium

    for name, scenario in (("Geo", "geo"), ("Meo", "meo"), ("Leo", "leo")):
        gymnasium.register(f"{name}-v0", "bentpipe.gym:Env", kwargs={"given": scenario})
    gymnasium.register("Aurora-v0", "bentpipe.gym.registration:aurora")


def aurora(**changes: Any) -> Any:
    """The environment of `bentpipe.gym.aurora`."""
    from bentpipe import gym

    return gym.Env(gym.aurora(**changes))
