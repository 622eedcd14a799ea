"""Training problems of doubly dual embedding: data, the basis of f, the base density, on jax."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp

from kcde.estimators._dde.potential import FEATURES


@dataclass(frozen=True)
class Recipe:
    """Settings of the training of f, ν and g, equal for all problems of one program.

    Attributes
    ----------
    basis
        One of the three of `potential`.
    dual
        "mlp" or "kernel".
    uniform
        Whether the base density is uniform on a box; a Gaussian otherwise.
    dual_weight
        Weight of the divergence from the base density in the objective: 1/λ of dde, equation 18.
    batch_size
        Rows an update.
    learning_rate
        Learning rate of Adam and of RMSprop.
    inner
        Functional gradients of f and ν for an update of g; their points are kept.
    latent
        Dimension of the noise of g.
    """

    basis: str
    dual: str
    uniform: bool
    dual_weight: float
    batch_size: int
    learning_rate: float
    inner: int
    latent: int


class Problem(eqx.Module):
    """Arrays of one problem, float32, points as columns.

    Attributes
    ----------
    X, Y
        Training rows, shapes (d_x, n), (d_y, n).
    scaled_x
        X over √2 σ_X, shape (d_x, n).
    part
        Factor of each basis function at each training x, shape (m, n): kernels at the training
        rows, or angles of random features; None where f is a function of y alone.
    anchors
        Points over √2 σ_Y, or frequencies, shape (m, d_y).
    phases
        Phases of the random features, shape (m, 1).
    inverse_y
        1/√2 σ_Y, shape (d_y, 1).
    gram
        k_X k_Y between the points, shape (m, m), where f is penalised; None otherwise.
    penalty
        η.
    centre, spread
        Location of the base density, shape (d_y, 1): mean and std, or centre and width.
    """

    X: object
    Y: object
    scaled_x: object
    part: object
    anchors: object
    phases: object
    inverse_y: object
    gram: object
    penalty: object
    centre: object
    spread: object

    def part_at(self, rows):
        """Return the columns of `part` at some rows, None where it is None."""
        return None if self.part is None else self.part[:, rows]

    def basis(self, part, Y, recipe: Recipe):
        """Return the basis functions at pairs, shape (m, B), for `part` (m, B) and Y (d_y, B)."""
        if recipe.basis == FEATURES:
            angle = self.anchors @ Y + self.phases
            angle = angle if part is None else angle + part
            return jnp.sqrt(2.0 / angle.shape[0]) * jnp.cos(angle)
        values = jnp.exp(-squared_distances(self.anchors, self.inverse_y * Y))
        return values if part is None else part * values

    def penalty_gradient(self, weights):
        """Return the gradient of η/2 ‖f‖² in the weights."""
        smooth = weights if self.gram is None else self.gram @ weights
        return self.penalty * smooth


def squared_distances(A, B):
    """Return |a - b|², shape (m, n), for the rows of A (m, d) and the columns of B (d, n)."""
    # Differences, not a matrix product: float32 would cancel, and the sum fuses with what follows.
    return sum((A[:, k, None] - B[k]) ** 2 for k in range(A.shape[1]))
