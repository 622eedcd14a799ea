"""Conditional normalising flows, as cdo compares with them."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from kcde.arrays import row_blocks
from kcde.estimators._shared import checks
from kcde.estimators._shared.pushforward import Pushforward
from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32, by_blocks, some_columns
from kcde.estimators.base import CommonOptions, Tags
from kcde.seeding import rng_of, seed_of
from kcde.selection import kfold

HELD_OUT_PARTS = 5
"""Where a flow is chosen from candidates, one of so many parts of the rows chooses."""

_LOG_TWO_PI = np.log(2.0 * np.pi)
_MOMENT_DRAWS = 1000  # a row


@dataclass(eq=False, repr=False)
class ConditionalFlow(CommonOptions, Pushforward):
    """y = T_x(z) with z standard normal and T_x a chain of layers that are affine in each y_i.

    A subclass says which layers (`kind`), how many more than blocks (`more_layers`), and the
    learning rate at √n = 28 (`rate`).
    """

    tags = Tags(array_api=False)
    largest_value = LARGEST_IN_FLOAT32
    _trainer = "kcde.estimators._networks.flows"
    _needs = ("networks", "jax", "equinox", "optax", "flowjax")
    more_layers = 0

    hidden_units: int = 100
    blocks: int = 5
    steps: int | Sequence[int] = 100
    learning_rate: float | Sequence[float] | None = None
    _: KW_ONLY
    candidates: Sequence | None = None

    def _fit(self, X, Y):
        for name in ("hidden_units", "blocks"):
            checks.whole(name, getattr(self, name))
        counts, rates = _stages(self.steps, self.learning_rate)
        rule = self.rate * np.sqrt(Y.shape[0]) / 28.0
        stages = [(count, rates[k] or rule) for k, count in enumerate(counts)]
        problem = seed_of("flow", self.random_state) % 2**32, some_columns(X), Y
        if self.candidates is not None:
            _check_candidates(self.candidates, counts, Y.shape[0])
            trained = self._choose(counts[0], problem)
        else:
            from kcde.estimators._networks.flows import train

            used = [rate for _, rate in stages]
            self.learning_rate_ = used[0] if np.ndim(self.steps) == 0 else used
            self.cv_results_ = {}
            trained = train(self._architecture(), *problem, stages)
        history, finite = trained.history, np.isfinite(trained.history)
        if not (finite.all() and trained.flow.is_finite()):
            step = np.argmin(finite) if not finite.all() else len(history)
            rates = np.atleast_1d(self.learning_rate_)
            raise FloatingPointError(
                f"{type(self).__name__} diverged at step {step} of {len(history)} with learning "
                f"rate {', '.join(f'{rate:.3g}' for rate in rates)}; give a smaller "
                "learning_rate, and bring x and y to unit scale"
            )
        self.flow_, self.history_ = trained.flow, history

    def _choose(self, most_steps: int, problem: tuple):
        """Return the flow that the best candidate was trained to on all rows."""
        from kcde.estimators._networks.flows import choose

        n = len(problem[-1])
        folds = kfold(n, HELD_OUT_PARTS, rng_of("selection", self.random_state))
        tried = [(self._architecture(*sizes), rate) for *sizes, rate in self.candidates]
        held = np.isin(np.arange(n), folds[0])
        trained, best, results = choose(tried, *problem, held, most_steps)
        self.cv_results_ = {"candidates": list(map(tuple, self.candidates)), **results}
        if not np.isfinite(self.cv_results_["score"]).any():
            remedy = "give smaller learning rates, and bring x and y to unit scale"
            raise FloatingPointError(f"no candidate has a finite held-out likelihood; {remedy}")
        self.hidden_units_, self.blocks_, self.learning_rate_ = self.candidates[best]
        self.steps_ = trained.steps
        return trained

    def _architecture(self, hidden_units=None, blocks=None):
        from kcde.estimators._networks.flows import Architecture

        blocks = blocks or self.blocks
        sizes = max(1, self.n_features_in_), self.n_outputs_, hidden_units or self.hidden_units
        return Architecture(self.kind, *sizes, layers=blocks + self.more_layers, normalised=blocks)

    def _log_density(self, X, Y):
        z, log_slope = self.flow_.inverse(some_columns(X), Y)
        return _log_normal(z) + log_slope

    def _log_density_at(self, Y):
        def at(X):
            if Y.shape[1] == 1:
                shift, scale = self._line(X)
                return _log_normal(((Y[:, 0] - shift) / scale)[..., None]) - np.log(scale)

            def of(rows):
                pairs = np.repeat(X[rows], len(Y), axis=0), np.tile(Y, (len(X[rows]), 1))
                return self._log_density(*pairs).reshape(-1, len(Y))

            return by_blocks(of, len(X), Y.size, like=X)

        return at

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y): exactly for one y, else that of 1000 draws."""
        return self._line(X)[0] if self.n_outputs_ == 1 else self.moments_of_draws(X)[0]

    def variance(self, X):
        """Return the variance of each y given x, shape (n, d_y), as `mean`."""
        return self._line(X)[1] ** 2 if self.n_outputs_ == 1 else self.moments_of_draws(X)[1]

    def moments_of_draws(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of 1000 draws at each row of X (n, d_x), shape (n, d_y) each.

        So the authors of cdo predict. The seed is fixed. The draws of a row follow on those of the
        rows before it, so that they depend on its place in X.
        """
        rng = rng_of("moments", self.random_state)
        blocks = row_blocks(len(X), _MOMENT_DRAWS * self.n_outputs_)
        draws = (self.sample(X[rows], _MOMENT_DRAWS, rng) for rows in blocks)
        parts = [(each.mean(axis=1), each.var(axis=1)) for each in draws]
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _push(self, X, Z):
        if self.n_outputs_ == 1:
            shift, scale = self._line(X)
            return shift[..., None] + scale[..., None] * Z
        Z = np.broadcast_to(Z, (len(X), *Z.shape[1:]))
        x = np.repeat(some_columns(X), Z.shape[1], axis=0)
        return self.flow_.push(x, Z.reshape(len(x), self.n_outputs_)).reshape(Z.shape)

    def _line(self, X):
        z, log_slope = self.flow_.inverse(some_columns(X), np.zeros((len(X), 1)))
        scale = np.exp(-log_slope[:, None])
        return -z * scale, scale


def _stages(steps, rate) -> tuple[list, list]:
    """Return the steps and the learning rate of every stage, None where a rule gives it."""
    if np.ndim(steps) == 0 and np.ndim(rate) == 0:
        counts, rates = [steps], [rate]
    elif np.ndim(steps) == np.ndim(rate) == 1 and len(steps) == len(rate) > 0:
        counts, rates = list(steps), list(rate)
    else:
        raise ValueError(f"steps {steps!r} and learning_rate {rate!r} must be of one length")
    for count, each in zip(counts, rates, strict=True):
        checks.whole("steps", count)
        checks.positive("learning_rate", each, optional=True)
    return counts, rates


def _check_candidates(given, counts: Sequence[int], n: int) -> None:
    """Check candidates, also against the stages of the training and n rows."""
    if len(counts) > 1:
        raise ValueError(f"candidates are trained in one stage; got {len(counts)} in steps")
    if n < HELD_OUT_PARTS:
        raise ValueError(f"holding out a fifth needs at least {HELD_OUT_PARTS} rows; got {n}")
    if not len(given) or any(np.shape(each) != (3,) for each in given):
        raise ValueError(f"candidates must be triples (units, blocks, rate); got {given!r}")
    for units, blocks, rate in given:
        checks.whole("units of candidates", units)
        checks.whole("blocks of candidates", blocks)
        checks.positive("a rate of candidates", rate)


def _log_normal(z: np.ndarray) -> np.ndarray:
    return -0.5 * np.sum(z * z + _LOG_TWO_PI, axis=-1)


class ConditionalRealNVP(ConditionalFlow):
    """Predict the density of several y given x, by a flow of couplings, from hundreds of rows on.

    `predict` gives the mean of y, `score` the mean log density of rows.

    y = T_x(z), each layer scaling and shifting one half of y by functions of the other and of x.

    `blocks` + 1 coupling layers of flowjax, as many as in the authors' code, that let the halves
    change places; in each a network with two layers of exponential linear units. Behind each but
    the last is a batch normalisation, as there: in a step of training its statistics are those of
    all rows; then they are set to those of the training rows at the final weights (the authors
    keep those of the last step, before its change of the weights) and stay, so that the density is
    one of each row. Trained by full batches of Adam with their weight decay of 1e-6, in float32,
    evaluated in float64. Different from their code: scales without an upper bound.

    Where d_y = 1 there is no other half of y to condition on: every layer is affine in y with
    coefficients of x alone, and p(y|x) is N(a(x), b(x)²). (The authors' code refuses d_y = 1.)

    A step costs O(n (blocks + 1) (H d + H²)) for H units and d = d_x + d_y: 35 s of one core for
    100 steps of 32,000 rows.

    With tens of rows a test row can get a density near 0.

    Parameters
    ----------
    hidden_units
        H.
    blocks
        Number of layers, see above.
    steps
        Steps of Adam, each on all rows; or the steps of several stages, each of which restarts
        Adam.
    learning_rate
        None: 0.002 √n/28, as the authors' on the donut; or one for every stage.
    candidates
        None: the flow is as the arguments above say. Else triples of hidden units, blocks and a
        learning rate, to choose from in their place by the likelihood of a random fifth of the
        rows: each is trained on the others until 30 steps have not raised it, or for `steps`; the
        best is then trained on all rows for as many steps as were best. Costs up to twice the
        training of all candidates.
    random_state
        Seeds the initial weights and these draws.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    flow_
        The trained flow, in float64.
    history_
        Mean negative log density of a training row before each step, nats, shape (steps,).
    learning_rate_
        Learning rate used, one per stage if there are several.
    hidden_units_, blocks_, steps_
        Of the candidate chosen, and its number of steps; not without `candidates`.
    cv_results_
        For each of `candidates` the largest held-out mean log density, `score`, and its `steps`.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import ConditionalRealNVP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = ConditionalRealNVP(hidden_units=8, blocks=2, steps=5).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    selection_rule = (
        "5 blocks with 100 hidden units and batch normalisation, 100 steps on all rows, "
        "learning rate 0.002 √n/28; nothing is chosen or stopped early"
    )

    kind = "coupling"
    rate = 0.002
    more_layers = 1


class ConditionalMAF(ConditionalFlow):
    """Predict the density of several y given x, by an autoregressive flow, from hundreds of rows.

    `predict` gives the mean of y, `score` the mean log density of rows.

    y = T_x(z), each layer scaling and shifting y_i by functions of y_1 … y_{i-1} and of x.

    `blocks` layers of flowjax, between which the columns of y change places; in each a masked
    network with two layers of hyperbolic tangents. Behind each is a batch normalisation, as in the
    authors' code: in a step of training its statistics are those of all rows; then they are set to
    those of the training rows at the final weights (the authors keep those of the last step,
    before its change of the weights) and stay, so that the density is one of each row. Trained by
    full batches of Adam with their weight decay of 1e-6, in float32, evaluated in float64.

    Where d_y = 1 every layer is affine in y with coefficients of x alone, and p(y|x) is
    N(a(x), b(x)²). (The authors' code refuses d_y = 1.)

    A step costs O(n blocks (H d + H²)) for H units and d = d_x + d_y: 25 s of one core for 100
    steps of 32,000 rows. A draw takes d_y evaluations of the networks where a density takes one.

    Nothing is held out by default, as published, so that the steps overfit few rows. On the 221
    training rows of scikit-learn's diabetes data it has -4.6 nats there and -9.8 on the others;
    with `standardize=False` -5.3 and -5.5, because those x have a standard deviation of 0.05 and
    are hardly learned from in 100 steps. The remedy is to stop early, not to leave x small:
    `candidates=[(100, 5, 0.002)]` with 300 steps has -5.5 in any units.

    Parameters and attributes are those of `ConditionalRealNVP`, but for two. `blocks` is the number
    of layers, 5 by default, with no layer beyond them. `learning_rate` is 0.005 √n/28 where it is
    None, as the authors' on the donut.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import ConditionalMAF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = ConditionalMAF(hidden_units=8, blocks=2, steps=5).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    selection_rule = (
        "5 blocks with 100 hidden units and batch normalisation, 100 steps on all rows, "
        "learning rate 0.005 √n/28; nothing is chosen or stopped early"
    )

    kind = "autoregressive"
    rate = 0.005
