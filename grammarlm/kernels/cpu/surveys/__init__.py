"""Surveys of the pushdown machine: walks that do not depend on the stack, cached, and the masks made of them."""
