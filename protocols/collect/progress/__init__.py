"""Progress of every expert, and the share of the queue that the slowest expert has reached."""
