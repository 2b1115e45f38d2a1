"""Numbers of canvases that kernels know, too."""

MASKED = -1  # in place of a class: the token is missing
ROOT = 0  # the symbol below all others
