"""Densities proportional to a base density times the exponential of a kernel function."""

from abc import abstractmethod

from kcde.estimators.base import ConditionalDensity
from kcde.normalisers import Normaliser, importance_sampling, quadrature
from kcde.panels import Pieces, filled, is_wide, mass_outside
from kcde.seeding import rng_of

_IMPORTANCE_SAMPLES = 10_000


class ExponentialFamily(ConditionalDensity):
    """p(y|x) = q_0(y) exp(T(x, y)) / Z(x) for a fitted T.

    A subclass sets `_T`, the fitted natural parameter, with `at_pairs(X, Y)` (n,), `kernel_x(X)`
    (n, m) and `potential(Y)` (m, q), whose product is T at all pairs; and gives the abstract
    methods.
    """

    def log_unnormalized(self, X, Y):
        """Return log q_0(y) + T(x, y), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        return self._T.at_pairs(X, Y) + self._log_base(Y)

    def log_unnormalized_at(self, Y):
        """Return a function X (n, d_x) -> log q_0(Y) + T(X, Y), shape (n, q), at shared Y (q, d_y).

        n_train q kernel derivatives once; then one product (n, n_train) (n_train, q) for each X.
        """
        potential, log_base = self._T.potential(Y), self._log_base(Y)
        return lambda X: self._T.kernel_x(X) @ potential + log_base[None, :]

    def log_normaliser(self, X, *, method=None, n_samples=None, rng=None) -> Normaliser:
        """Return log Z(x) with its error.

        Parameters
        ----------
        X
            Shape (n, d_x).
        method
            "importance": proposal samples shared over x, from a Gaussian with the mean and twice
            the standard deviation of the training y. "quadrature": exact, for d_y = 1. None:
            quadrature where d_y = 1, importance sampling otherwise.
        n_samples
            Importance samples; None: 10,000.
        rng
            Random generator of the samples; None: a fixed seed.

        Returns
        -------
        kcde.normalisers.Normaliser

        Raises
        ------
        ValueError
            If the method is not known, or quadrature is asked for d_y > 1.
        """
        method = method or ("quadrature" if self.n_outputs_ == 1 else "importance")
        if method == "importance":
            rng = rng_of("importance", self.random_state) if rng is None else rng
            count = _IMPORTANCE_SAMPLES if n_samples is None else n_samples
            return importance_sampling(self.log_unnormalized_at, X, self._proposal(), count, rng)
        if method != "quadrature" or self.n_outputs_ != 1:
            raise ValueError(
                "method must be 'importance', or 'quadrature' where y is one-dimensional; "
                f"got {method!r} for d_y = {self.n_outputs_}"
            )
        support, pieces = self._kernel_support(), None
        outside = self._base_mass_outside(*support[:2])
        if is_wide(support) and (pieces := self._kernel_pieces()) is not None:
            outside = mass_outside(pieces, self._base_mass_outside)
        return quadrature(self.log_unnormalized_at, X, support, pieces=pieces, outside=outside)

    def _log_density(self, X, Y):
        return self.log_unnormalized(X, Y) - self.log_normaliser(X).log_z

    def _log_density_at(self, Y):
        unnormalised = self.log_unnormalized_at(Y)
        return lambda X: unnormalised(X) - self.log_normaliser(X).log_z[:, None]

    def _log_relative_at(self, Y):
        return self.log_unnormalized_at(Y)

    @abstractmethod
    def _log_base(self, Y):
        """Return log q_0(y), shape (n,)."""

    @abstractmethod
    def _kernel_support(self) -> tuple[float, float, float]:
        """Return lower end, upper end and a panel width; T vanishes outside; d_y = 1."""

    def _kernel_pieces(self) -> Pieces | None:
        """Return intervals outside of which T vanishes, for a wide support; d_y = 1."""
        return None

    @abstractmethod
    def _base_ends(self) -> tuple[float, float, float]:
        """Return the ends beyond which q_0 has no mass, and its scale; d_y = 1."""

    def _support(self):
        (lower, upper, width), (below, above, _) = self._kernel_support(), self._base_ends()
        return min(lower, below), max(upper, above), width

    def _pieces(self):
        pieces = self._kernel_pieces()
        return None if pieces is None else filled(pieces, *self._base_ends())

    @abstractmethod
    def _base_mass_outside(self, lower: float, upper: float) -> float:
        """Return the mass of q_0 outside an interval; d_y = 1."""
