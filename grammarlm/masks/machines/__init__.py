"""The machines, a folder each, behind one protocol (masks/protocol.py); registry.py lists them."""
