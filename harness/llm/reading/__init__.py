"""Parse model replies: find the option that a reply names."""
