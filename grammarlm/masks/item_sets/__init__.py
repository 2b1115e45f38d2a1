"""Item sets: sorted rows in segments that come and go, and what of them a search may return."""
