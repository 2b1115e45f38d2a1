"""Rules by which a drafted token becomes the token that is drawn: `gl.Draft(acceptance=)`, by name or as an object of one."""
