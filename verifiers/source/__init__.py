"""A skill's text: linted, typed, fixed, and taken apart into its statements and branches."""
