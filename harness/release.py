"""The version of this code."""

from oversight.harness.distribution import VERSION

__version__ = VERSION
