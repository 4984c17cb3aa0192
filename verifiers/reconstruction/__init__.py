"""Parts of ``verifiers.reconstruct``: how replays are compared with recordings, and what to try next where they differ."""
