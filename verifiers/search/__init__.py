"""The search for starts on which a skill takes a branch that no other run took."""
