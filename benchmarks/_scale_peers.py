"""Counts behind the estimates of every model, from Parquet files, by polars or DuckDB.

    python benchmarks/_scale_peers.py FOLDER ENGINE

The last line is JSON: CPU seconds, seconds, megabytes, and the sum of all counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._peak_memory import peak_mb


def count_in_polars(folder: Path) -> int:
    import polars as pl  # type: ignore[import-not-found,unused-ignore]  # in an environment of its own

    labels = pl.scan_parquet(folder / "labels.parquet")
    predictions = pl.scan_parquet(folder / "predictions-*.parquet")
    counted = (
        predictions.join(labels, on="item_id")
        .group_by("run_id", "status", "verdict", pl.col("option") == pl.col("asked"))
        .len()
        .collect(engine="streaming")
    )
    return int(counted["len"].sum())


def count_in_duckdb(folder: Path) -> int:
    import duckdb  # type: ignore[import-not-found]  # in an environment of its own

    rows = duckdb.sql(
        "SELECT run_id, status, verdict, option = asked, count(*) "  # noqa: S608  a folder of this benchmark
        f"FROM '{folder}/predictions-*.parquet' JOIN '{folder}/labels.parquet' USING (item_id) "
        "GROUP BY ALL"
    ).fetchall()
    return sum(row[-1] for row in rows)


ENGINES: dict[str, Callable[[Path], int]] = {"polars": count_in_polars, "duckdb": count_in_duckdb}


def main(folder: str, engine: str) -> None:
    cpu, begun = time.process_time(), time.perf_counter()
    counted = ENGINES[engine](Path(folder))
    print(
        json.dumps(
            {
                "cpu": time.process_time() - cpu,
                "wall": time.perf_counter() - begun,
                "mb": peak_mb(),
                "counted": counted,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
