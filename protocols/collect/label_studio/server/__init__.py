"""Call a Label Studio server, and run one on this machine."""
