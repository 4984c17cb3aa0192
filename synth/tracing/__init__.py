"""Executions as data: recorded, stored, redacted, read back."""
