"""Synthesis by example from (start, end, request): edit programs for recordings that hold edits or states and no commands."""
