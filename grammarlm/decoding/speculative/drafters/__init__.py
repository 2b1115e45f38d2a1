"""Where drafts come from: one mechanism a file."""
