"""Rules by which a drafted token becomes the token that is drawn; registry.py names them."""
