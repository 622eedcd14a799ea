"""Parts that several families share: rows, distributions, mixtures, threads."""
