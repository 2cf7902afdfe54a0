"""Weighted samples of unknown parameters: population Monte Carlo over rival hypotheses.

O. Cappé, A. Guillin, J.-M. Marin, C. P. Robert: Population Monte Carlo, Journal of Computational and
Graphical Statistics 13, 2004. Each round proposes around the best of the rounds before; all rounds count,
each by its share of the mixture of all proposals (the deterministic mixture of A. Owen, Y. Zhou, Safe and
Effective Importance Sampling, Journal of the American Statistical Association 95, 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SAFE = 0.2
"""This share of each later round comes from the first proposal, so that no region is neglected."""
_CROSSED = 0.4
"""And this share takes the common parameters from the best, and all others from the first proposal:
a hypothesis with many parameters is not lost because few of its first points met the common ones."""
_CENTRES = 100
_WIDTH = 1.0
"""Proposals lie this share of the population's standard deviation around its members, ..."""
_LEAST_WIDTH = 0.02
"""... and at least this share of the whole range."""
ENOUGH = 10.0
"""Fewer independent samples than that have no middle half worth the name."""
WIDEST = 10.0
"""Tolerances so much wider mean nothing any more."""
_STEPS = 24


@dataclass(frozen=True)
class Points:
    """Points of a unit cube, each with the hypothesis it belongs to.

    Attributes:
        kind: index of the hypothesis.
        at: one row for each point; a hypothesis with fewer parameters leaves the last columns unused.
    """

    kind: NDArray[np.int64]
    at: Floats

    def __len__(self) -> int:
        return len(self.kind)

    def pick(self, which: NDArray[np.int64]) -> Points:
        """Those with these indices."""
        return Points(self.kind[which], self.at[which])


Density = Callable[[Points], Floats]
"""The logarithm of a density at each point."""


@dataclass(frozen=True)
class PointSource:
    """A source of points: draws a number of them, and gives their density."""

    draw: Callable[[int], Points]
    log_density: Density


@dataclass
class Population:
    """All points so far.

    Attributes:
        points: the points.
        log_prior: of each, the logarithm of the density before the simulated evidence.
        log_fit: of each, the logarithm of how well it fits that evidence.
        drawn: the sources, and how many points of each.
    """

    points: Points
    log_prior: Floats
    log_fit: Floats
    drawn: list[tuple[PointSource, int]] = field(default_factory=list)

    def log_ratio(self) -> Floats:
        """The logarithm of the prior density over that of all proposals."""
        total = sum(count for _, count in self.drawn)
        mixed = [np.log(count / total) + source.log_density(self.points) for source, count in self.drawn]
        return np.asarray(self.log_prior - np.logaddexp.reduce(mixed, axis=0))

    def weights(self, widened: float = 1.0) -> Floats:
        """The weight of each point, 1 together; `widened` multiplies the tolerances."""
        return _weights(self._bounded(), self.log_fit, widened)

    def _bounded(self) -> Floats:
        """The same, but no point counts more than the root of their number times the mean.

        E. L. Ionides, Truncated Importance Sampling, Journal of Computational and Graphical Statistics 17,
        2008: less scatter for a little bias.
        """
        ratio, size = self.log_ratio(), len(self.points)
        mean = float(np.logaddexp.reduce(ratio)) - np.log(size)
        return np.asarray(np.minimum(ratio, mean + 0.5 * np.log(size)))

    def widening(self) -> float:
        """By how much tolerances must be widened for enough effective points, `WIDEST` at most."""
        ratio, wanted = self._bounded(), min(ENOUGH, len(self.points) / 4)
        for widened in map(float, np.geomspace(1.0, WIDEST, _STEPS)):
            if effective(_weights(ratio, self.log_fit, widened)) >= wanted:
                return widened
        return WIDEST


def _weights(log_ratio: Floats, log_fit: Floats, widened: float) -> Floats:
    log = log_ratio + log_fit / widened**2
    raw = np.exp(log - log.max())
    return np.asarray(raw / raw.sum())


def effective(weights: Floats) -> float:
    """The equivalent number of points of equal weight (Kish's effective sample size)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def uniform(kinds: int, dimensions: int, random: np.random.Generator) -> PointSource:
    """All hypotheses and all of the cube alike."""

    def draw(count: int) -> Points:
        return Points(np.arange(count) % kinds, random.random((count, dimensions)))

    return PointSource(draw, lambda points: np.full(len(points), -np.log(kinds)))


def mixed(sources: Sequence[PointSource]) -> PointSource:
    """Points of several sources, as many of each."""

    def draw(count: int) -> Points:
        sizes = [count // len(sources) + (i < count % len(sources)) for i in range(len(sources))]
        parts = [source.draw(size) for source, size in zip(sources, sizes, strict=True)]
        return Points(np.concatenate([one.kind for one in parts]), np.concatenate([one.at for one in parts]))

    def log_density(points: Points) -> Floats:
        each = [source.log_density(points) for source in sources]
        return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(sources)))

    return PointSource(draw, log_density)


def populate(
    first: PointSource,
    prior: Density,
    fit: Density,
    active: Sequence[int],
    sizes: Iterable[int],
    random: np.random.Generator,
    until: float = np.inf,
    common: int = 0,
) -> Population:
    """Draws rounds of these sizes, or fewer once this number of effective points is reached.

    Args:
        first: the first round's proposal, which is never zero where the prior is not.
        prior: the density that is known without effort.
        fit: the evidence, which may be simulated.
        active: of each hypothesis, how many columns of the points it uses.
        sizes: points of each round, asked for when it begins.
        random: the source of all random numbers.
        until: see above.
        common: number of leading columns that have the same meaning under all hypotheses; `first` draws them
            uniformly and independently of all else.
    """
    drawn: list[tuple[PointSource, int]] = []
    source, found = first, None
    for size in sizes:
        new = source.draw(size)
        fitted = fit(new)
        drawn.append((source, size))
        if found is None:
            found = Population(new, prior(new), fitted, drawn)
        else:
            found.points = Points(
                np.concatenate([found.points.kind, new.kind]), np.concatenate([found.points.at, new.at])
            )
            found.log_prior = np.concatenate([found.log_prior, prior(new)])
            found.log_fit = np.concatenate([found.log_fit, fitted])
        if effective(found.weights()) >= until:
            break
        source = _around(found, first, active, random, common)
    assert found is not None
    return found


def systematic(weights: Floats, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """This number of indices, each as often as its weight requires, to within one.

    J. Carpenter, P. Clifford, P. Fearnhead, Improved Particle Filter for Nonlinear Problems, IEE Proceedings:
    Radar, Sonar and Navigation 146, 1999.
    """
    steps = (random.random() + np.arange(count)) / count
    return np.minimum(np.searchsorted(np.cumsum(weights), steps), len(weights) - 1)


def _around(
    found: Population, first: PointSource, active: Sequence[int], random: np.random.Generator, common: int
) -> PointSource:
    """A proposal around the members of a population that count most."""
    weights = found.weights(found.widening())
    centres = found.points.pick(systematic(weights, _CENTRES, random))
    widths = np.stack([_widths(centres.at[centres.kind == kind]) for kind in range(len(active))])
    widths = np.broadcast_to(widths, (len(active), centres.at.shape[1]))
    used = np.arange(centres.at.shape[1]) < np.array(active)[:, None]
    shared = _widths(centres.at[:, :common])
    crossed_share = _CROSSED if common else 0.0

    def draw(count: int) -> Points:
        whole = first.draw(round((_SAFE + crossed_share) * count))
        crossed = np.arange(len(whole)) < round(crossed_share * count)
        around = centres.at[random.integers(0, _CENTRES, len(whole)), :common]
        whole.at[crossed, :common] = _moved(around, shared, random)[crossed]
        near = centres.pick(random.integers(0, _CENTRES, count - len(whole)))
        moved = np.where(
            used[near.kind], _moved(near.at, widths[near.kind], random), random.random(near.at.shape)
        )
        return Points(np.concatenate([whole.kind, near.kind]), np.concatenate([whole.at, moved]))

    def log_density(points: Points) -> Floats:
        around, beside = np.zeros(len(points)), np.zeros(len(points))
        for kind, at in zip(centres.kind, centres.at, strict=True):
            same = points.kind == kind
            columns = slice(0, active[kind])
            around[same] += _normal(points.at[same, columns], at[columns], widths[kind, columns])
            beside += _normal(points.at[:, :common], at[:common], shared) if common else 0.0
        from_first = np.exp(first.log_density(points)) * (_SAFE + crossed_share * beside / _CENTRES)
        with np.errstate(divide="ignore"):  # a point of an earlier proposal may be impossible here
            return np.asarray(np.log(from_first + (1 - _SAFE - crossed_share) * around / _CENTRES))

    return PointSource(draw, log_density)


def _moved(at: Floats, widths: Floats, random: np.random.Generator) -> Floats:
    """Points around these, reflected at 0 and 1."""
    moved = np.abs(at + widths * random.standard_normal(at.shape)) % 2.0
    return np.asarray(np.minimum(moved, 2.0 - moved))


def _widths(at: Floats) -> Floats:
    """Of each column how far proposals lie from their centre."""
    spread = at.std(axis=0) if len(at) > 1 else np.zeros(at.shape[1])
    return np.maximum(_WIDTH * spread, _LEAST_WIDTH)


def _normal(at: Floats, centre: Floats, width: Floats) -> Floats:
    """The density of a normal law that is reflected at 0 and 1."""
    whole = sum(np.exp(-0.5 * ((image - centre) / width) ** 2) for image in (at, -at, 2.0 - at))
    return np.asarray((whole / (np.sqrt(2 * np.pi) * width)).prod(axis=1))
