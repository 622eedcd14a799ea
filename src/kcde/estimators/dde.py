"""Kernel exponential families by doubly dual embedding (dde: Dai et al., AISTATS 2019)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from kcde.arrays import logsumexp, row_blocks
from kcde.estimators._dde import FEATURES, KERNEL_REACH, POINTS, KernelSum, Likelihood, UniformBase
from kcde.estimators._shared import checks
from kcde.estimators._shared.exponential_family import ExponentialFamily
from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32
from kcde.estimators.base import CommonOptions, Tags
from kcde.normalisers import GaussianProposal
from kcde.panels import neighbourhoods
from kcde.seeding import generator, rng_of, seed_of

_RESAMPLED = 10_000
_FEWEST_ROWS = 5  # for holding rows out
_COUNTS = ("features", "hidden_units", "latent", "iterations", "patience", "batch_size")
_POSITIVE = ("dual_weight", "base_std", "bandwidth_scale", "learning_rate")


@dataclass(eq=False, repr=False)
class DDE(CommonOptions, ExponentialFamily):
    """Predict the density of y given x, by doubly dual embedding, for hundreds of rows and more.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = p_0(y) exp(f(x, y)/w) / Z(x), by penalised maximum likelihood as a saddle point.

    min_g max_{f, ν} E_D f - E_g f - η/2 ‖f‖² + w (E_g ν - E_{p_0} exp ν), with f a kernel
    function, g(x, ξ) a sampler and ν ≈ log q/p_0 a dual function (dde, equation 18 and its
    conditional extension). No normaliser is needed in training; w = 1/λ of the paper.

    An iteration is one update of f, five of g and fifteen of ν (appendix E), with the optimisers,
    networks and initial values of the authors' code. It costs O(B (n + H²)) for batches of B rows,
    n training rows (or random features) and H units. The kernels of x between the training rows
    take 4 n² bytes, those of y as much where f is penalised, and 27 n² while they are computed.

    What comes out depends on bandwidth, penalty and the number of iterations. Of several y
    `sample` is approximate: it resamples 10,000 draws of a wide normal density by their importance.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of the Gaussian kernels, in the units of x and y: a number, or one per
        dimension. None: σ² = bandwidth_scale × the median squared distance (the median trick).
    regularization
        η. None: 1/n, a unit Gaussian process prior on f; 0.0 in every configuration of the
        authors' code.
    dual_weight
        w.
    base_std
        Standard deviation of a Gaussian p_0, in standard deviations of the training y.
    bandwidth_scale
        See `bandwidth_x`.
    base
        p_0: "gaussian", with the mean of the training y; "uniform", on their bounding box.
    density_weight
        The density is p_0 exp(f/density_weight)/Z. None: w, which is what the saddle point means;
        the authors evaluate with 1 for every w.
    basis
        "points": f = Σ_i α_i k(·, (x_i, y_i)) over the training rows, as in the authors' code.
        "features": random features (Algorithm 3).
    features
        Number of random features.
    hidden_units, latent, sampler_layers, dual_layers
        Sizes of the networks; `latent` is the dimension of ξ.
    iterations
        Maximum number of iterations.
    validation
        Share of the rows that is held out; training stops where their likelihood is largest. 0:
        after `iterations`.
    patience
        Iterations without a better held-out likelihood after which to stop.
    refit
        Whether to train on all rows afterwards, for the number of iterations found.
    batch_size
        Rows an update; all of them where there are no more.
    learning_rate
        Learning rate of Adam (f, g) and RMSprop (ν).
    snapshots
        Iterations of which f and g are kept.
    random_state
        Seeds the held-out rows, initial values and noise.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    coef_
        α, shape (n,), or (n - held out,) with `refit=False`; or weights of the features (r,).
    bandwidth_x_, bandwidth_y_, regularization_
        Values used.
    iterations_
        Those of the f and g that are kept.
    history_
        Of the last training: arrays `iteration`, `objective` (that of equation 18, plus w),
        `mmd2_biased` of draws of g against the training rows with the kernel of f, and `held_out`,
        the mean negative log-likelihood of held-out rows in nats, NaN where there are none.
    validation_history_
        History of the training with held-out rows; None without.
    snapshots_
        Iterations for which `sample_snapshot` works.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import DDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = DDE(iterations=10, validation=0, hidden_units=8, latent=4).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    >>> model.sample(X[:2], 5, rng).shape
    (2, 5, 1)
    """

    largest_value = LARGEST_IN_FLOAT32

    _trainer = "kcde.estimators._networks.dde"
    _needs = ("networks", "numba")

    selection_rule = (
        "bandwidths by the median trick and η = 1/n, nothing is searched; trained for as many "
        "iterations as give a held-out fifth of the rows the largest likelihood"
    )

    tags = Tags(array_api=False)

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float | None = None
    dual_weight: float = 1.0
    base_std: float = 1.0
    _: KW_ONLY
    bandwidth_scale: float = 0.5
    base: str = "gaussian"
    density_weight: float | None = None
    basis: str = "points"
    features: int = 1000
    hidden_units: int = 64
    latent: int = 64
    sampler_layers: int = 3
    dual_layers: int = 3
    iterations: int = 5000
    validation: float = 0.2
    patience: int = 1000
    refit: bool = True
    batch_size: int = 100
    learning_rate: float = 1e-4
    snapshots: Sequence[int] = ()

    def fit(self, X, Y, groups=None) -> "DDE":
        """Fit to pairs, shapes (n, d_x) and (n, d_y); None stands for X of shape (n, 0).

        Raises
        ------
        ValueError
            If a shape or parameter is wrong, a value is not finite, or all points coincide; or for
            groups, as it does not choose by folds.
        kcde.memory.InsufficientMemory
            If the arrays would not fit into memory.
        FloatingPointError
            If the training diverges; the last finite f and g are kept.
        """
        super().fit(X, Y, groups)
        if self._diverged is not None:
            raise FloatingPointError(
                f"doubly dual embedding diverged by iteration {self._diverged}; f and g of "
                f"iteration {self.iterations_} are kept: try a smaller learning_rate, or a "
                "larger regularization or bandwidth, and bring x and y to unit scale"
            )
        return self

    def _fit(self, X, Y):
        from kcde.estimators._networks.dde import resolve_parameters

        self._check_parameters()
        if self.validation and len(Y) < _FEWEST_ROWS:
            raise ValueError(f"at least {_FEWEST_ROWS} rows can hold some out: give validation=0")
        held = max(1, round(self.validation * len(Y))) if self.validation else 0
        self.model_ = resolve_parameters(self, X, Y)
        self.bandwidth_x_ = self.model_.bandwidth_x
        self.bandwidth_y_ = self.model_.bandwidth_y
        self.regularization_ = self.model_.penalty
        target, searched, self.validation_history_ = self.iterations, None, None
        if held:
            searched = self._trained(X, Y, held, target, () if self.refit else self.snapshots)
            target = max(1, searched.iteration)
            self.validation_history_ = _history(searched)
        again = self.refit or not held
        trained = self._trained(X, Y, 0, target, self.snapshots) if again else searched
        found = (each.diverged for each in (searched, trained) if each is not None)
        self._diverged = next((at for at in found if at is not None), None)
        model, state = self.model_, trained.state
        self.potential_ = model.potential(state)
        self.coef_ = self.potential_.weights
        self._T = model.potential(state, 1.0 / self._density_weight)
        self.sampler_ = model.sampler(state)
        self.iterations_ = trained.iteration
        self.history_ = _history(trained)
        self._snapshots = {at: model.sampler(kept) for at, kept in trained.snapshots.items()}
        self.snapshots_ = tuple(sorted(self._snapshots))

    def _trained(self, X, Y, held: int, target: int, snapshots):
        """Train for `target` iterations at most, with some rows held out or on all."""
        from kcde.estimators._networks.dde import Training, train

        state, order, held_out = self.random_state, np.arange(len(Y)), None
        if held:
            order = rng_of("validation", state).permutation(order)
        kept, rows = order[:held], order[held:]
        model = self.model_ = self.model_.on(X[rows], Y[rows])
        if held:
            held_out = model.held_out(X[kept], Y[kept], self._density_weight)
        start = model.problem(), model.initial_state(rng_of("dde", state))
        training = Training(target, self.patience, tuple(snapshots), held_out)
        train(training, *start, seed_of("dde", state) % 2**32, model.recipe)
        return training

    def _check_parameters(self):
        for name in _COUNTS:
            checks.whole(name, getattr(self, name))
        for name in ("sampler_layers", "dual_layers"):
            checks.whole(name, getattr(self, name), 2)
        for name in _POSITIVE:
            checks.positive(name, getattr(self, name))
        checks.positive("density_weight", self.density_weight, optional=True)
        if self.regularization is not None and not self.regularization >= 0:
            raise ValueError(f"regularization must not be negative; got {self.regularization!r}")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must lie in [0, 1); got {self.validation!r}")
        for name, allowed in {"base": ("gaussian", "uniform"), "basis": (POINTS, FEATURES)}.items():
            checks.choice(name, getattr(self, name), allowed)

    @property
    def _density_weight(self) -> float:
        return self.dual_weight if self.density_weight is None else self.density_weight

    def natural_parameter(self, X, Y):
        """Return f, shape (n,), at the pairs X (n, d_x) or None, Y (n, d_y)."""
        return self.potential_.at_pairs(X, Y)

    def penalised_likelihood(self) -> Likelihood:
        """Return the convex objective of the training, on the rows that f was trained on.

        Its `minimised(η)` is the optimum over all functions of the RKHS, for d_y = 1, and for
        d_y = 2 where p_0 is uniform; η = 0 has none, as the likelihood of rows with distinct x has
        no upper bound. Its `evaluated(self.trained_, η)` is what the training reaches.

        Raises
        ------
        ValueError
            If f has random features, or there is no quadrature over y.
        """
        model = self._check_fitted().model_
        if self.basis == FEATURES:
            raise ValueError(f"basis {FEATURES!r} approximates the RKHS: give basis='points'")
        widths = model.bandwidth_x, model.bandwidth_y
        return Likelihood(model.X, model.Y, *widths, model.base, self.dual_weight)

    @property
    def trained_(self) -> KernelSum:
        """f/w, the function whose likelihood the training penalises."""
        f = self._check_fitted().potential_
        return replace(f, weights=f.weights / self.dual_weight)

    def sample_learned(self, X, n: int, random_state):
        """Draw from the learned sampler g, which is near p(y|x); else as `sample`."""
        return self._learned(self.sampler_, X, n, generator(random_state))

    def sample_snapshot(self, iteration: int, X, n: int, random_state):
        """Draw from g as it was at an iteration of `snapshots`; else as `sample`."""
        if iteration not in self._snapshots:
            raise ValueError(f"there is no snapshot of {iteration}; there are {self.snapshots_}")
        return self._learned(self._snapshots[iteration], X, n, generator(random_state))

    def _sample_multivariate(self, X, n, rng):
        """By importance resampling of draws from the proposal, which all rows share."""
        proposal, count = self._proposal(), max(_RESAMPLED, 20 * n)
        Y, draws = proposal.sample(count, rng), np.empty((len(X), n, self.n_outputs_))
        at, log_q = self.log_unnormalized_at(Y), proposal.log_density(Y)
        for rows in row_blocks(len(X), count):
            log_w = at(X[rows]) - log_q
            weights = np.exp(log_w - logsumexp(log_w, axis=1)[:, None])
            draws[rows] = [rng.choice(Y, n, p=each) for each in weights]
        return draws

    def _learned(self, sampler, X, n: int, rng) -> np.ndarray:
        draws = np.empty((len(X), n, self.n_outputs_))
        for rows in row_blocks(len(X), n * max(self.hidden_units, 2 * self.latent)):
            repeated = np.repeat(X[rows], n, axis=0)
            drawn = sampler(repeated.T, rng.standard_normal((self.latent, len(repeated))))
            draws[rows] = drawn.T.reshape(draws[rows].shape)
        return draws

    def _log_base(self, Y):
        return self.model_.base.log_density(Y)

    def _proposal(self):
        base = self.model_.base
        if isinstance(base, UniformBase):
            return base
        return GaussianProposal(base.mean, np.maximum(2.0 * self.model_.Y.std(axis=0), base.std))

    def _kernel_support(self):
        return self.model_.kernel_support

    def _kernel_pieces(self):
        model = self.model_
        if isinstance(model.base, UniformBase) or model.features is not None:
            return None
        *_, width = model.kernel_support
        return neighbourhoods(model.Y, KERNEL_REACH * float(model.bandwidth_y[0]), width)

    def _base_ends(self):
        return self.model_.base_ends()

    def _base_mass_outside(self, lower, upper):
        return self.model_.base.mass_outside(lower, upper)


def _history(trained) -> dict[str, np.ndarray]:
    iteration, objective, mmd2, held_out = np.array(trained.history).reshape(-1, 4).T
    found = {"iteration": iteration.astype(int), "objective": objective}
    return found | {"mmd2_biased": mmd2, "held_out": held_out}
