"""A repository's own history: commits that come again and again, found without labels and made into traces."""
