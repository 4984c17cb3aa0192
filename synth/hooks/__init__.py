"""Hooks: what agents call while they work, and how they come to do so."""
