"""The version of this code."""

from harness.distribution import VERSION

__version__ = VERSION
