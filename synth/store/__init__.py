"""What hooks saw: contents by their digest, pictures of trees, and tasks as they were done.

Only the standard library: hooks must be quick."""
