"""Database engines: SQLite files and PostgreSQL servers, including lost files and lost connections."""
