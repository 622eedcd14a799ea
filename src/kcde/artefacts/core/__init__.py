"""Declaration and drawing of artefacts, and the values of a cell of scores."""
