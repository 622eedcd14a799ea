"""Conditional Real NVP (Dinh et al., ICLR 2017), as cdo compares with it."""

from typing import ClassVar

from kcde.estimators._flows.base import ConditionalFlow


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
        None: 0.002 √n/28, as the authors' on the donut; or one for every stage. Without batch
        normalisation the rule is too large for many rows.
    batch_normalisation
        Whether to use batch normalisation.
    candidates
        None: the flow is as the arguments above say. Else triples of hidden units, blocks and a
        learning rate, to choose from in their place by the likelihood of a random fifth of the
        rows: each is trained on the others until 30 steps have not raised it, or for `steps`; the
        best is then trained on all rows for as many steps as were best. Costs up to twice the
        training of all candidates.
    moment_samples
        Draws a row for `mean` and `variance`.
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

    selection_rule: ClassVar[str] = (
        "5 blocks with 100 hidden units and batch normalisation, 100 steps on all rows, "
        "learning rate 0.002 √n/28; nothing is chosen or stopped early"
    )

    kind: ClassVar[str] = "coupling"
    rate: ClassVar[float] = 0.002
    more_layers: ClassVar[int] = 1
