"""The rows of a study's database.

Keys make every write idempotent: if the same item, question, answer, run or prediction is written twice, it
is stored once. After a change in this package, raise `oversight.harness.store.schema.HEAD`. `upgrade.py`
copies the columns of older databases by name, and holds the statements for rows that come from other tables.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
