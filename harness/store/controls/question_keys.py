"""SQL of a study's secret key, with which the ids of its questions are sealed."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.database import Repository
from oversight.harness.store.tables import ControlQuestionRow, QuestionKeyRow, QuestionRow

_KEY = QuestionKeyRow.__table__
_DRAWN = tuple(row.__table__ for row in (QuestionRow, ControlQuestionRow))
_BYTES = 32


class QuestionKeyRepository(Repository):
    """The key of a study: drawn at random before its first questions, and kept in the database alone."""

    def read_key(self) -> bytes:
        """The key; empty if nothing was drawn yet, or an older version drew the first questions."""
        found = self._database.read_tuples(sa.select(_KEY.c.secret))
        return bytes(found[0][0]) if found else b""

    def ensure_key(self) -> bytes:
        """Read the key, and draw it first if the study has no questions yet.

        Of several processes that draw one at once, one stores its own and all use that. Questions that an
        older version drew keep their ids, so their study stays without a key.
        """
        if not self._is_settled():
            with self._database.transaction(exclusive=True) as connection:
                if not self._is_settled(connection):
                    connection.execute(sa.insert(_KEY).values(id=0, secret=secrets.token_bytes(_BYTES)))
        return self.read_key()

    def set_key(self, key: bytes) -> None:
        """Give a study without questions a key of your own, so that tests get the same ids each time.

        An empty key leaves ids to follow from the seed, as older versions did: whoever knows the seed of such
        a study can tell its control questions.

        Raises
        ------
        StoreError
            If the study has a key or questions already.
        """
        with self._database.transaction(exclusive=True) as connection:
            if self._is_settled(connection):
                raise StoreError("the key of question ids is set before the first questions are drawn")
            connection.execute(sa.insert(_KEY).values(id=0, secret=key))

    def _is_settled(self, connection: sa.Connection | None = None) -> bool:
        """Whether there is a key, or questions without one; as a transaction sees it if one is given."""
        read = self._database.read_tuples if connection is None else connection.execute
        return any(list(read(sa.select(table.c.id).limit(1))) for table in (_KEY, *_DRAWN))
