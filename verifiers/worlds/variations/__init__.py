"""One file a kind of variation, found by its module-level ``VARIATIONS``."""
