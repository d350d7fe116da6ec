"""The audit of a study: freeze its design, check its trail, write and check bundles."""
