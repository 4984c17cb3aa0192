"""Detection: which of the recorded traces are one task, done often or with many steps."""
