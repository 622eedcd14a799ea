"""The untrained model of hyper-parameters and data, and the functions of a trained one."""

from dataclasses import dataclass, replace

import numpy as np

from kcde.estimators._dde import functions, training
from kcde.kernels import GaussianKernel, as_bandwidths, median_trick
from kcde.memory import free_host_bytes
from kcde.seeding import rng_of

_INITIAL_STD = 0.1  # of the weights of f, as in the authors' code
_BASE_REACH = 12.0  # standard deviations
_SQRT_2 = np.sqrt(2.0)


@dataclass(frozen=True)
class Model:
    """Everything that is not trained.

    X, Y are the rows that f is trained on, the penalty is η, and base p_0. f may have random
    features. The recipe has the batch size of these rows.
    """

    X: np.ndarray
    Y: np.ndarray
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray
    penalty: float
    base: functions.GaussianBase | functions.UniformBase
    features: functions.FeatureSum | None
    recipe: training.Recipe

    def on(self, X, Y) -> "Model":
        """Return the model with other rows to train on."""
        recipe = self.recipe._replace(batch_size=min(self.recipe.batch_size, len(Y)))
        return replace(self, X=X, Y=Y, recipe=recipe)

    def problem(self) -> training.Problem:
        """Return the arrays of the training, float32."""
        X, Y = self.X, self.Y
        anchors, phases, part = Y / (_SQRT_2 * self.bandwidth_y), np.zeros(len(Y)), np.empty((0, 0))
        gram = np.empty((0, 0))
        if self.features is not None:
            anchors, phases = self.features.frequencies_y, self.features.phases
            part = X @ self.features.frequencies_x.T if X.shape[1] else part
        else:
            part = GaussianKernel(self.bandwidth_x)(X, X) if X.shape[1] else part
            if self.penalty > 0:
                gram = GaussianKernel(self.bandwidth_y)(Y, Y)
                gram = gram * part if X.shape[1] else gram
        widths = np.concatenate([self.bandwidth_x, self.bandwidth_y])
        centre, spread = _location(self.base)
        arrays = training.Problem(
            X=X.T,
            Y=Y.T,
            scaled=(np.hstack([X, Y]) / (_SQRT_2 * widths)).T,
            part=part,
            anchors=anchors.T,
            phases=phases,
            inverse_y=1.0 / (_SQRT_2 * self.bandwidth_y),
            gram=gram,
            penalty=np.float32(self.penalty),
            centre=centre,
            spread=spread,
        )
        single = (np.ascontiguousarray(each, dtype=np.float32) for each in arrays)
        return training.Problem(*single)._replace(penalty=np.float32(self.penalty))

    def initial_state(self, rng: np.random.Generator) -> training.State:
        """Return f, g and ν before training."""
        count = len(self.Y) if self.features is None else len(self.features.phases)
        weights = _INITIAL_STD * rng.standard_normal(count).astype(np.float32)
        g = training.initial_parameters(self.recipe.sampler, True, rng)
        return training.start(weights, g, training.initial_parameters(self.recipe.dual, False, rng))

    def held_out(self, X, Y, density_weight: float) -> functions.HeldOut:
        """Return the likelihood of rows under f with any weights."""
        support = self.kernel_support if Y.shape[1] == 1 else None
        count = len(self.Y) if self.features is None else len(self.features.phases)
        ones = self._sum(np.ones(count))
        return functions.HeldOut(ones, self.base, X, Y, support, density_weight)

    def potential(
        self, state: training.State, scale: float = 1.0
    ) -> functions.KernelSum | functions.FeatureSum:
        """Return f of a state, times a scale, in float64."""
        return self._sum(scale * np.asarray(state.f, dtype=np.float64))

    def sampler(self, state: training.State) -> training.Perceptron:
        """Return g of a state, in float64: maps X (n, d_x) and ξ (n, latent) to y, by columns."""
        return training.Perceptron(np.float64(state.g), self.recipe.sampler)

    def dual(self, state: training.State):
        """Return ν of a state, in float64: maps X (n, d_x), Y (n, d_y) to (n,)."""
        network = training.Perceptron(np.float64(state.nu), self.recipe.dual)
        return lambda X, Y: network(Y.T, X.T)[0]

    @property
    def kernel_support(self) -> tuple[float, float, float]:
        """Interval outside of which f p_0 equals p_0 or 0, and a panel width; d_y = 1."""
        width = float(min(self.bandwidth_y[0], _location(self.base)[1][0]))
        if isinstance(self.base, functions.UniformBase):
            return float(self.base.lower[0]), float(self.base.upper[0]), width
        if self.features is not None:
            return *self.base_ends(), width
        margin = functions.KERNEL_REACH * float(self.bandwidth_y[0])
        return float(self.Y.min()) - margin, float(self.Y.max()) + margin, width

    def base_ends(self) -> tuple[float, float]:
        """Return the ends beyond which a Gaussian p_0 has no mass; d_y = 1."""
        mean, reach = float(self.base.mean[0]), _BASE_REACH * float(self.base.std[0])
        return mean - reach, mean + reach

    def _sum(self, weights: np.ndarray) -> functions.KernelSum | functions.FeatureSum:
        if self.features is not None:
            return replace(self.features, weights=weights)
        return functions.KernelSum(self.X, self.Y, weights, self.bandwidth_x, self.bandwidth_y)


def resolve_parameters(estimator, X: np.ndarray, Y: np.ndarray) -> Model:
    """Return the model of an estimator's parameters for its data.

    Bandwidths and p_0 come from all rows, X (n, d_x) and Y (n, d_y). The parameters were checked.
    """
    e, n = estimator, len(Y)
    check_memory(e, Y.shape)
    sigma_x = _bandwidths(e.bandwidth_x, X, e.bandwidth_scale, "bandwidth_x", "X")
    sigma_y = _bandwidths(e.bandwidth_y, Y, e.bandwidth_scale, "bandwidth_y", "Y")
    features = None
    if e.basis == functions.FEATURES:
        rng = rng_of("features", e.random_state)
        pairs = ((X.shape[1], sigma_x), (Y.shape[1], sigma_y))
        drawn = [rng.standard_normal((e.features, d)) / sigma for d, sigma in pairs]
        phases = rng.uniform(0.0, 2.0 * np.pi, e.features)
        features = functions.FeatureSum(*drawn, phases, np.ones(e.features))
    d_x, d_y = X.shape[1], Y.shape[1]
    hidden, latent = e.hidden_units, e.latent
    recipe = training.Recipe(
        features=e.basis == functions.FEATURES,
        uniform=e.base == "uniform",
        dual_weight=np.float32(e.dual_weight),
        batch_size=e.batch_size,
        learning_rate=float(e.learning_rate),
        sampler=training.Shape(d_x, latent if d_x else 0, latent, hidden, e.sampler_layers, d_y),
        dual=training.Shape(d_y if d_x else 0, d_x, d_x or d_y, hidden, e.dual_layers, 1),
    )
    penalty = 1.0 / n if e.regularization is None else float(e.regularization)
    base = functions.GaussianBase(Y.mean(axis=0), e.base_std * Y.std(axis=0))
    if e.base == "uniform":
        base = functions.UniformBase(Y.min(axis=0), Y.max(axis=0))
    return Model(X, Y, sigma_x, sigma_y, penalty, base, features, recipe).on(X, Y)


def _bandwidths(given, data: np.ndarray, scale: float, parameter: str, name: str) -> np.ndarray:
    if given is None:
        given = median_trick(data, scale, name) if data.shape[1] else 1.0
    return as_bandwidths(given, data.shape[1], parameter)


def _location(base) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and spread: mean and standard deviation, or middle and width."""
    if isinstance(base, functions.UniformBase):
        return 0.5 * (base.lower + base.upper), base.upper - base.lower
    return base.mean, base.std


def check_memory(estimator, shape: tuple[int, int]) -> None:
    """Raise `ValueError` if training with Y of a shape needs more memory than is free."""
    n, d_y = shape
    points = estimator.basis == functions.POINTS
    count_f, rows = (n, 2 * n) if points else (estimator.features, n)
    needed = 4 * count_f * rows
    if estimator.validation:
        held = round(estimator.validation * n)
        # Of a random feature it keeps cosine and sine.
        nodes = functions.NODES if d_y == 1 else functions.DRAWS
        needed += 8 * count_f * (1 if points else 2) * (2 * held + nodes)
    free = free_host_bytes()
    if needed > free:
        what = "training rows" if points else "features"
        raise ValueError(
            f"{count_f} {what} would take {needed / 2**30:.1f} GB of memory, and "
            f"{free / 2**30:.1f} GB are free: take fewer"
            + (", or basis='features'" if points else "")
        )
