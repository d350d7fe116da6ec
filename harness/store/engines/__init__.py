"""Engines of databases: files of SQLite, servers of PostgreSQL, and what to do when a server goes away."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
