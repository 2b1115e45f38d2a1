"""When and how far each row of a batch drafts: objects for `gl.Draft(schedule=)`."""
