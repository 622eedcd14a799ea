"""Workings of NADE: the network, its training and the selection of its size."""
