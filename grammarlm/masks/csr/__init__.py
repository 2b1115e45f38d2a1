"""Automata over tokens as arrays with default edges: for devices, and for export."""
