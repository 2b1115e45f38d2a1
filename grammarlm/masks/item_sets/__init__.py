"""Item sets: sorted rows in parts that come and go, and what of them a search may return."""
