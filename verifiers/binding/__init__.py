"""Which arguments a trace stands for: bindings read, guessed, confirmed, and traced to where their values come from."""
