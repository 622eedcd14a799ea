"""Parts of pictures: style, labels, box plots, scatter plots, and the page of a figure."""
