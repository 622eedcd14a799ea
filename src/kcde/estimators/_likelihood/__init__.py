"""Parts of LikelihoodKCEF: features, penalised likelihood, its maximisation, and selection."""
