"""What holds over all recorded starts, inferred as data: one file a kind. Starts within the evidence keep it all; a start that
breaks one of it asks a question."""
