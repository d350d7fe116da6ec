"""Read a study's questions, answers and predictions from the database as arrays."""
