"""Progress of every expert, and the share of their queues that all experts have reached."""
