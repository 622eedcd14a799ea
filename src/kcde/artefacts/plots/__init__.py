"""What pictures share: one look, labels, box plots, scatter plots."""
