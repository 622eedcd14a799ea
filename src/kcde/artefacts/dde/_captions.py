"""What several captions of the paper say."""

from kcde.artefacts.core import cells

PLANAR = (
    "500 training points; 1500 (grid) or 5000 (ring, two moons) for testing, drawn anew for every "
    "seed and the same for every method. In raw units the base density of DDE is uniform on the "
    "bounding box of the training points."
)
PLANAR_REDUCED = (
    "Reduced at laptop: 2 seeds (paper scale: 10; the paper states no repetition). 20000 "
    "iterations for every set, as in figure 2. The authors' code counts epochs: it stops after "
    "9000 (grid) and 11000 (two moons), of 5 and, with its 1000 points, 10 of these iterations, so "
    "that the published samples may have been trained for longer than the paper says."
)
CODE_SETS = (
    "Where text and code differ, the text is followed: the ring's radii 1, 3, 5 have a third of "
    "the points each (code: in proportion to the radius), and two moons has 500 training points "
    "(code: 1000). The grid's text is obscure; its centres (0, 1) and (1, 1) are the code's."
)
OVER_ITERATIONS = (
    "Samples of the learned sampler (500, in colour) over the training points (black) of the "
    "first seed, and below them the biased MMD² of the sampler to the training points, with the "
    "kernel of f, against the iteration: a line a seed; triangles mark the iterations shown. An "
    "iteration is one update of f, five of the sampler and fifteen of ν. The frame is that of the "
    "training points with a tenth of their range on each side; samples outside are counted (out)."
)
DDE_CONFLICTS = (
    "Conflicts of text and code, settled as in the code for DDE: the base density is a Gaussian "
    "whose standard deviation is one or three times that of y (text: as in kcef, 2), the weight λ "
    "of training is left out of the evaluation, the penalty η is 0 (text: penalised likelihood), "
    "the networks have 3 layers (text: 5). Gradients are clipped for f and ν (text: all updates; "
    "code: ν alone). The authors train for 50000 iterations without a stopping rule; neither how "
    "they chose parameters nor which of the test likelihoods, printed every 100 iterations, they "
    "report is known. Reduced at laptop: 2500 iterations at 20 times their learning rate of 1e-4."
)
QUADRATURE = f"{cells.NLL}_quadrature"
BY_QUADRATURE = {
    "DDE-quadrature": ("DDE", QUADRATURE),
    "DDE-penalised": ("DDE-penalised", QUADRATURE),
}
