"""What canvases ask of the JSON machine."""
