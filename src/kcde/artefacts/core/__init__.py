"""What an artefact is, which there are, and how they are drawn."""
