"""Hamiltonian Monte Carlo of a model of all columns with another number of leapfrog steps.

The code that dde cites for KEF prints 100 steps of 0.1 "as in the paper". Here their size follows
the acceptance, as it does with the 10 steps of `KCEF.sample_hmc`.
"""

from dataclasses import dataclass

import numpy as np

from kcde.arrays import take_rows, to_numpy
from kcde.estimators.kcef import KCEF, HMCResult
from kcde.sampling import convergence, hmc

_CHAINS, _BURN_IN, _THIN = 20, 100, 10  # the defaults of `KCEF.sample_hmc`


@dataclass(frozen=True)
class LongTrajectories:
    """A fitted estimator without x whose chains make more leapfrog steps a transition."""

    estimator: KCEF
    leapfrog_steps: int

    def sample_hmc(self, X, n_samples: int, rng: np.random.Generator) -> HMCResult:
        """Draw as `KCEF.sample_hmc`, which says what the arguments are; X is None."""
        model, kept = self.estimator, -(-n_samples // _CHAINS)
        no_x, rows = model._check_features(X), np.zeros(_CHAINS, dtype=int)
        start = take_rows(model.Y_, rng.integers(model.Y_.shape[0], size=_CHAINS))
        run = hmc(
            model._hmc_target(no_x, rows),
            start,
            rng,
            burn_in=_BURN_IN,
            iterations=kept * _THIN,
            thin=_THIN,
            leapfrog_steps=self.leapfrog_steps,
        )
        chains = to_numpy(run.draws)
        mixing = convergence(chains)
        return HMCResult(
            chains.reshape(1, -1, chains.shape[2])[:, :n_samples],
            float(np.mean(to_numpy(run.acceptance))),
            run.divergences,
            _CHAINS * kept * _THIN,
            float(np.max(mixing.r_hat)),
            float(np.min(mixing.effective_sample_size)),
        )
