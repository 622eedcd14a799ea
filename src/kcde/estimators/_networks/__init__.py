"""Training of networks, by numba or JAX."""
