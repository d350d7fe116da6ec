"""SQL of erasures: remove an erased item's text from stored calls and prompts, and find where it remains."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.tables.insertion import count_rows
from oversight.harness.store.tables.run_tables import CALL, RUN, SEARCH
from oversight.harness.store.tables.table_maker import METADATA

ERASED = "erased"
"""Key that marks the specification of a search or run whose prompts showed an erased item as an example."""
_START = 200
"""Number of characters at the beginning of an item's text by which stored texts are recognised."""
_NO_TEXT = (sa.Numeric, sa.Integer, sa.Boolean, sa.LargeBinary)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedExamples:
    """Ids of searches, and names of workflow runs, whose prompts showed an erased item as an example."""

    searches: tuple[str, ...]
    runs: tuple[str, ...]


class ErasureRepository(Repository):
    """Erases an item's texts; call its methods inside `Store.together(exclusive=True)`."""

    def erase_examples(self, texts: Collection[str]) -> ErasedExamples:
        """Remove the examples that show one of these texts from the prompts of searches and workflow runs."""
        searches, runs = list[str](), list[str]()
        with self._database.transaction(exclusive=True) as connection:
            for search, spec in connection.execute(sa.select(SEARCH.c.id, SEARCH.c.spec)).all():
                if (kept := _drop_examples(spec, texts)) != spec:
                    values = {"spec": kept | {ERASED: True}}
                    connection.execute(sa.update(SEARCH).where(SEARCH.c.id == search).values(values))
                    searches.append(search)
            for run, name, spec in connection.execute(sa.select(RUN.c.id, RUN.c.name, RUN.c.spec)).all():
                workflow = _read_workflow(spec)
                if workflow and (kept := _drop_examples(workflow, texts)) != workflow:
                    template = json.dumps(kept, sort_keys=True, ensure_ascii=False)
                    values = {"spec": {**spec, "template": template, ERASED: True}}
                    connection.execute(sa.update(RUN).where(RUN.c.id == run).values(values))
                    runs.append(name)
        return ErasedExamples(searches=tuple(searches), runs=tuple(dict.fromkeys(runs)))

    def erase_calls(self, texts: Collection[str]) -> None:
        """Erase request and reply of each call whose request contains one of these texts; keep the usage."""
        with self._database.transaction(exclusive=True) as connection:
            holds = self._holds(CALL.c.request, self._find_forms(connection, texts))
            erased = {"request": "", "reply": "", "error": "erased"}
            connection.execute(sa.update(CALL).where(holds).values(erased))

    def find_remains(self, texts: Collection[str]) -> dict[str, int]:
        """Return the number of rows that contain the start of one of these texts, by ``table.column``.

        Columns without such rows are omitted.
        """
        with self._database.transaction() as connection:
            forms = self._find_forms(connection, texts)
            found = {
                f"{table.name}.{column.name}": count_rows(connection, table, self._holds(column, forms))
                for table in METADATA.sorted_tables
                for column in table.c
                if not isinstance(column.type, _NO_TEXT)
            }
        return {name: number for name, number in found.items() if number}

    def _holds(self, column: sa.ColumnElement[Any], forms: Iterable[str]) -> sa.ColumnElement[bool]:
        position = sa.func.instr if self._database.is_file else sa.func.strpos
        return sa.or_(sa.false(), *(position(sa.cast(column, sa.Text), form) > 0 for form in forms))

    def _find_forms(self, connection: sa.Connection, texts: Collection[str]) -> set[str]:
        """Return the forms in which the beginning of a text can be stored.

        A prompt can have cut the text to a number of words, and JSON can have escaped its characters.
        """
        specs: list[Mapping[str, Any]] = list(connection.execute(sa.select(SEARCH.c.spec)).scalars())
        specs += filter(None, map(_read_workflow, connection.execute(sa.select(RUN.c.spec)).scalars()))
        limits = {None, *(_most_words(spec) for spec in specs)}
        cut = {" ".join(text.split()[:most])[:_START] for text in texts for most in limits}
        forms = {text[:_START] for text in texts} | cut
        forms = {form for form in forms if form.strip()}
        for _ in range(2):  # a template may be JSON in JSON
            forms |= {json.dumps(f, ensure_ascii=is_ascii)[1:-1] for f in forms for is_ascii in (True, False)}
        return forms


def _read_workflow(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the workflow in a run's specification; None if the run is not of a workflow."""
    try:
        found = json.loads(str(spec.get("template", "")))
    except ValueError:
        return None
    return found if isinstance(found, dict) and "shape" in found else None


def _most_words(spec: Mapping[str, Any]) -> int | None:
    most: int | None = spec.get("shape", {}).get("max_words")
    return most


def _drop_examples(spec: Mapping[str, Any], texts: Collection[str]) -> dict[str, Any]:
    """Return the settings of a search or workflow without examples that show one of the texts."""
    most = _most_words(spec)
    gone = {tuple(text.split()[:most]) for text in texts}

    def keep(examples: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [one for one in examples if tuple(one["text"].split()[:most]) not in gone]

    kept = dict(spec)
    if "shown" in spec:
        kept["shown"] = keep(spec["shown"])
    if "examples" in spec.get("shape", {}):
        kept["shape"] = {**spec["shape"], "examples": keep(spec["shape"]["examples"])}
    return kept
