"""Rules over time: linear temporal logic on finite sequences of actions (LTLf)."""
