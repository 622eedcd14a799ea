"""The untrained model of hyper-parameters and data, and the functions of a trained one."""

from dataclasses import dataclass, replace

import jax
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
    features. The recipe has the batch size of these rows; the shape is hidden units, layers of g
    and of ν.
    """

    X: np.ndarray
    Y: np.ndarray
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray
    penalty: float
    base: functions.GaussianBase | functions.UniformBase
    features: functions.FeatureSum | None
    recipe: training.Recipe
    shape: tuple[int, int, int]

    def on(self, X, Y) -> "Model":
        """Return the model with other rows to train on."""
        recipe = replace(self.recipe, batch_size=min(self.recipe.batch_size, len(Y)))
        return replace(self, X=X, Y=Y, recipe=recipe)

    def problem(self) -> training.Problem:
        """Return the arrays of the training, float32."""
        gram = part = None
        anchors, phases = self.Y / (_SQRT_2 * self.bandwidth_y), np.zeros((len(self.Y), 1))
        if self.features is not None:
            anchors, phases = self.features.frequencies_y, self.features.phases[:, None]
            part = self.features.frequencies_x @ self.X.T if self.X.shape[1] else None
        else:
            part = GaussianKernel(self.bandwidth_x)(self.X, self.X) if self.X.shape[1] else None
            if self.penalty > 0:
                gram = GaussianKernel(self.bandwidth_y)(self.Y, self.Y)
                gram = gram if part is None else gram * part
        centre, spread = _location(self.base)
        arrays = training.Problem(
            X=self.X.T,
            Y=self.Y.T,
            scaled_x=(self.X / (_SQRT_2 * self.bandwidth_x)).T,
            part=part,
            anchors=anchors,
            phases=phases,
            inverse_y=1.0 / (_SQRT_2 * self.bandwidth_y)[:, None],
            gram=gram,
            penalty=np.float32(self.penalty),
            centre=centre[:, None],
            spread=spread[:, None],
        )
        return jax.tree.map(lambda array: np.asarray(array, dtype=np.float32), arrays)

    def initial_state(self, rng: np.random.Generator) -> training.State:
        """Return f, g and ν before training."""
        hidden, sampler_layers, dual_layers = self.shape
        d_x, d_y = self.X.shape[1], self.Y.shape[1]
        count = len(self.Y) if self.features is None else len(self.features.phases)
        weights = _INITIAL_STD * rng.standard_normal(count).astype(np.float32)
        latent, layer = self.recipe.latent, training.initial_layer
        embedding = layer(d_x, latent, rng) if d_x else None
        widths = [2 * latent if d_x else latent, *[hidden] * (sampler_layers - 1), d_y]
        sampler = training.Sampler(embedding, training.initial_layers(widths, rng))
        embedding = layer(d_y, d_x, rng) if d_x else None
        widths = [2 * d_x or d_y, *[hidden] * (dual_layers - 1), 1]
        dual = training.Dual(embedding, training.initial_layers(widths, rng))
        return training.start(weights, sampler, dual, self.recipe)

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
        return self._sum(scale * np.asarray(state.weights, dtype=np.float64))

    def sampler(self, state: training.State) -> training.Sampler:
        """Return g of a state, in float64."""
        return _float64(state.sampler)

    def dual(self, state: training.State):
        """Return ν of a state, in float64: maps X (n, d_x), Y (n, d_y) to (n,)."""
        network = _float64(state.dual)
        return lambda X, Y: network(X.T, Y.T)

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
    recipe = training.Recipe(
        basis=e.basis,
        uniform=e.base == "uniform",
        dual_weight=float(e.dual_weight),
        batch_size=e.batch_size,
        learning_rate=float(e.learning_rate),
        latent=e.latent,
    )
    penalty = 1.0 / n if e.regularization is None else float(e.regularization)
    base = functions.GaussianBase(Y.mean(axis=0), e.base_std * Y.std(axis=0))
    if e.base == "uniform":
        base = functions.UniformBase(Y.min(axis=0), Y.max(axis=0))
    shape = e.hidden_units, e.sampler_layers, e.dual_layers
    return Model(X, Y, sigma_x, sigma_y, penalty, base, features, recipe, shape).on(X, Y)


def _bandwidths(given, data: np.ndarray, scale: float, parameter: str, name: str) -> np.ndarray:
    if given is None:
        given = median_trick(data, scale, name) if data.shape[1] else 1.0
    return as_bandwidths(given, data.shape[1], parameter)


def _location(base) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and spread: mean and standard deviation, or middle and width."""
    if isinstance(base, functions.UniformBase):
        return 0.5 * (base.lower + base.upper), base.upper - base.lower
    return base.mean, base.std


def check_memory(estimator, shape: tuple[int, int], count: int = 1) -> None:
    """Raise `ValueError` if training so many, with Y of a shape, needs more memory than is free."""
    n, d_y = shape
    points = estimator.basis == functions.POINTS
    count_f, rows = (n, 2 * n) if points else (estimator.features, n)
    each = 4 * count_f * (rows + 4 * min(estimator.batch_size, n))
    if estimator.validation:
        held = round(estimator.validation * n)
        # Of a random feature it keeps cosine and sine.
        nodes = functions.NODES if d_y == 1 else functions.DRAWS
        each += 8 * count_f * (1 if points else 2) * (2 * held + nodes)
    needed, free = count * each, free_host_bytes()
    if needed > free:
        what = "training rows" if points else "features"
        what += f" in each of {count} fits" if count > 1 else ""
        raise ValueError(
            f"{count_f} {what} would take {needed / 2**30:.1f} GB of memory, and "
            f"{free / 2**30:.1f} GB are free: take fewer"
            + (", or basis='features'" if points else "")
        )


def _float64(tree):
    return jax.tree.map(lambda array: np.asarray(array, dtype=np.float64), tree)
