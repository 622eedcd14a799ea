"""What several captions of the paper say."""

GRID = (
    "The grid data: X_1 is uniform on [0, 1] and p(x_i|x_(i-1)) = 1 + sin(2πx_i) sin(2πx_(i-1)) "
    "there; the paper prints no frequencies. All is standardised by the training rows and "
    "evaluated on 2000 test points; KCEF's normaliser is by quadrature. Black lines: the exact "
    "entropy bound, which no density exceeds in the mean, and the best without dependence. Arrow "
    "heads at the edge: means beyond it, the lowest named."
)
GRID_REDUCED = (
    "Reduced at laptop: 5 repetitions (paper scale: 10; the paper does not say), hyper-parameters "
    "of KCEF tuned on 500 rows (2000)."
)
SLICES = (
    "1000 rows of the data (black), drawn at random from all of them, and 1000 of 2000 samples of "
    "each model over them, fitted to the training rows of the first run; columns are centred and "
    "in standard deviations (sd) of the training rows. The paper names (x_15, x_16) on parkinsons; "
    "its rule leaves 15 columns, so the last two are shown. The frame is that of the data; the "
    "samples outside are counted (out)."
)
SLICES_REDUCED = (
    "Reduced at laptop: hyper-parameters of KCEF tuned on 500 rows (paper scale: 2000)."
)
