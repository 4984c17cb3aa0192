"""Bases for traces recorded without one: how replays are compared with recordings, and what to try where they differ."""
