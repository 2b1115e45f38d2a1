"""Numbers within bounds and steps, exactly."""
