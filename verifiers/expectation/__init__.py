"""What was right: recorded commands replayed, and how a run is compared with them."""
