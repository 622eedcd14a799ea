"""Dai et al. 2019, Kernel exponential family estimation via doubly dual embedding."""
