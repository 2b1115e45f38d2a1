"""Item sets: sorted rows in segments that are added and removed, and subsets that a search may return."""
