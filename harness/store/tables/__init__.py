"""The rows of a study's database.

Primary keys make writes idempotent: an item, question, answer, run or prediction that is written twice is
stored once. After a change in this package, increase `oversight.harness.store.schema.HEAD`. `upgrade.py`
copies the columns of older databases by name, and contains the SQL for rows of tables that no longer exist.
"""
