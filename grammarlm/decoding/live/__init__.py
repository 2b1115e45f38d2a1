"""One loop for each model that is asked from several places at once: agenerate() and astream()."""
