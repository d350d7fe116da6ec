"""Progress of every expert, and the share of all queues that everybody has answered."""
