"""Database engines: SQLite files and PostgreSQL servers, including lost files and lost connections."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
