"""A hundred million calls over a hundred nodes, simulated with costs that are measured on a real PostgreSQL.

First the operations of a joint run are made on a server of this machine: claims and answers of several
sizes, leases, signs of life, portions of a budget, places in an endpoint's line. Counted are processor
seconds of both sides, messages and bytes, which other work on the machine does not change; what one
operation lasts is made of these, of `--trip` for a message and `--flush` for a write to the disk. Then the
run is played second by second: nodes take calls as the provider's limit, their lanes and the database let
them, fail at random, and are replaced. Workers store for one run one after the other, as every run counts
its changes in a row that a transaction holds until it is over.

    python benchmarks/hundred_million.py [--quick] [--calls 1e8] [--nodes 100] [--limit 3000] [--cores 4]

The last line is JSON: how long it takes, what the database bears, what failures cost, and what would break
next at which rate.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._database_costs import Cost, joint_run_bench
from benchmarks._run_constants import TOGETHER, Constants, measure
from tests.postgresql_server import start_postgresql

LINGER = 0.003
GRANT, BOOKED = 64, 16
"""Calls of a portion of a budget, and places in an endpoint's line that are booked at once."""
LEASE, REPLACED = 60.0, 120.0
"""Seconds until a node is taken for lost, and until another one works in its place."""
CALL_USD = 0.0005
DISK = 200e6
"""Bytes that a server's disk is taken to write in a second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--quick", action="store_true", help="shorter measurements, under 4 minutes")
    add("--calls", type=float, default=1e8)
    add("--nodes", type=int, default=100)
    add("--concurrency", type=int, default=64, help="calls under way on a node")
    add("--latency", type=float, default=1.0, help="seconds until a provider answers")
    add("--limit", type=float, default=3_000, help="calls a second that the provider takes")
    add("--cores", type=float, default=4, help="processors of the database's server")
    add("--hours-between-failures", type=float, default=48.0, help="of one node, on average")
    add("--trip", type=float, default=0.0005, help="seconds of a message to the database and back")
    add("--flush", type=float, default=0.001, help="seconds of a write to its disk")
    add("--seed", type=int, default=7)
    args = parser.parse_args()
    with start_postgresql() as url, joint_run_bench(url, 40_000 if args.quick else 200_000) as bench:
        constants = measure(bench, 1.0 if args.quick else 5.0, args.trip, args.flush)
    tell(constants)
    play = Play(args, constants)
    found = play.run()
    limits = find_limits(args, constants)
    for name, rate in sorted(limits.items(), key=lambda limit: limit[1]):
        print(f"would break at {rate:>12,.0f} calls a second: {name}")
    first = min(limits, key=lambda name: limits[name])
    print(json.dumps({**found, "breaks_next_at": round(limits[first]), "breaks_next_by": first}))


def tell(c: Constants) -> None:
    """Print what was measured."""
    us = 1e6
    print(
        f"claim, of the server: {us * c.claim_cpu.fixed:,.0f} µs + {us * c.claim_cpu.each:,.0f} µs an answer"
    )
    print(f"store, of the server: {us * c.keep_cpu.fixed:,.0f} µs + {us * c.keep_cpu.each:,.0f} µs an answer")
    print(f"store, from begin to end: {us * c.keep.fixed:,.0f} µs + {us * c.keep.each:,.0f} µs an answer")
    for name in ("lease", "show", "grant", "book"):
        cost: Cost = getattr(c, name)
        print(
            f"{name}: {us * c.lasts(name):,.0f} µs from begin to end, of the server {us * cost.cpu:,.0f} µs; "
            f"here and now {us * cost.wall:,.0f} µs"
        )
    print(f"log: {c.claim_log.each + c.keep_log.each:,.0f} bytes an answer; a stored row {c.row:,.0f} bytes")
    print(
        f"stored for one run here and now: {c.alone:,.0f} answers a second by one worker, "
        f"{c.together:,.0f} by {TOGETHER}"
    )


class Play:
    """The run, second by second."""

    def __init__(self, args: argparse.Namespace, constants: Constants) -> None:
        self.a, self.c = args, constants
        self.rng = np.random.default_rng(args.seed)

    def run(self) -> dict[str, float]:
        """Play it to its end, and print and return what came of it."""
        a = self.a
        done, seconds, failures, lost = 0.0, 0, 0, 0
        cpu = commits = log = away = 0.0
        back = np.zeros(a.nodes)  # when a node works again
        chance = 1 / (a.hours_between_failures * 3600)
        steady: dict[int, tuple[float, float, float, float, float]] = {}
        while done < a.calls:
            works = back <= seconds
            alive = int(works.sum())
            if alive not in steady:
                steady[alive] = self.settle(alive)
            rate, wait, cores, transactions, bytes_ = steady[alive]
            fell = works & (self.rng.random(a.nodes) < chance)
            under_way = min(a.concurrency, rate / max(alive, 1) * (a.latency + wait))
            gone = int(self.rng.poisson(under_way, int(fell.sum())).sum())
            back[fell] = seconds + REPLACED
            done += rate - gone
            failures, lost = failures + int(fell.sum()), lost + gone
            cpu, commits, log = cpu + cores, commits + transactions, log + bytes_
            away += a.nodes - alive
            seconds += 1
        found = {
            "calls": a.calls,
            "nodes": a.nodes,
            "hours": seconds / 3600,
            "calls_a_second": a.calls / seconds,
            "database_cores": cpu / seconds,
            "commits_a_second": commits / seconds,
            "log_mb_a_second": log / seconds / 1e6,
            "rows_gb": a.calls * self.c.row / 1e9,
            "failures": failures,
            "paid_twice_at_most": lost,
            "paid_twice_share": lost / a.calls,
            "paid_twice_usd": lost * CALL_USD,
            "node_hours_away": away / 3600,
        }
        print(
            f"{a.calls:,.0f} calls on {a.nodes} nodes: {found['hours']:.1f} h at "
            f"{found['calls_a_second']:,.0f} a second (the provider takes {a.limit:,.0f})"
        )
        print(
            f"the database: {found['database_cores']:.2f} of {a.cores:g} cores, "
            f"{found['commits_a_second']:,.0f} transactions and {found['log_mb_a_second']:.1f} MB of log a "
            f"second, {found['rows_gb']:.0f} GB of rows at the end"
        )
        print(
            f"{failures} nodes failed: at most {lost:,} calls paid twice ({found['paid_twice_share']:.2e} of "
            f"all, ${found['paid_twice_usd']:.2f}), {found['node_hours_away']:.1f} node hours away"
        )
        return {name: float(f"{value:.4g}") for name, value in found.items()}

    def settle(self, alive: int) -> tuple[float, float, float, float, float]:
        """What so many nodes do: calls a second, then as `load` with these."""
        if not alive:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        a = self.a
        low, high = 0.0, min(a.limit, alive * a.concurrency / a.latency)
        for _ in range(60):  # the highest rate at which lanes, the run's row and the server keep up
            rate = (low + high) / 2
            wait, cores, _, _ = self.load(rate, alive)
            keeps_up = cores <= a.cores and rate <= alive * a.concurrency / (a.latency + wait)
            low, high = (rate, high) if keeps_up else (low, rate)
        wait, cores, transactions, log = self.load(low, alive)
        return low, wait, cores, transactions, log

    def load(self, rate: float, alive: int) -> tuple[float, float, float, float]:
        """Seconds that an answer waits to be stored; cores, transactions, bytes of log a second.

        Workers store for one run one after the other.
        """
        c, each = self.c, rate / alive
        share = alive * c.keep.each * each
        turn = alive * c.keep.fixed / (1 - share) if share < 1 else float("inf")
        turn = max(LINGER, turn)  # between two stores of a worker
        if turn == float("inf"):
            return turn, turn, 0.0, 0.0
        stores = alive / turn if each * turn >= 1 else rate
        claims = min(rate, alive / (LINGER + c.lasts("show")))
        grants, books, leases, signs = rate / GRANT, rate / BOOKED, rate / 200, alive * 4 / LEASE
        cores = stores * c.keep_cpu.fixed + claims * c.claim_cpu.fixed
        cores += rate * (c.keep_cpu.each + c.claim_cpu.each)
        cores += grants * c.grant.cpu + books * c.book.cpu + leases * c.lease.cpu + signs * c.show.cpu
        log = stores * c.keep_log.fixed + claims * c.claim_log.fixed
        log += rate * (c.keep_log.each + c.claim_log.each)
        log += grants * c.grant.log + books * c.book.log + leases * c.lease.log + signs * c.show.log
        transactions = stores + claims + grants + books + 2 * leases + signs
        return turn, cores, transactions, log


def find_limits(args: argparse.Namespace, c: Constants) -> dict[str, float]:
    """Calls a second at which each part of the design ends, all others left aside."""
    full = args.concurrency  # answers that a worker stores at once when it waits long for its turn
    cpu = c.keep_cpu.at(full) / full + c.claim_cpu.at(full) / full
    cpu += c.grant.cpu / GRANT + c.book.cpu / BOOKED + c.lease.cpu / 200
    log = c.keep_log.at(full) / full + c.claim_log.at(full) / full
    return {
        "the row in which a run counts its changes (split into runs)": full / c.keep.at(full),
        "the row of a budget (larger portions)": GRANT / c.lasts("grant"),
        "the row of an endpoint's line (more places at once)": BOOKED / c.lasts("book"),
        f"{args.cores:g} cores of the database (several databases)": args.cores / cpu,
        f"a disk of {DISK / 1e6:.0f} MB a second (several databases)": DISK / log,
        "the lanes of all nodes (more nodes)": args.nodes * args.concurrency / args.latency,
    }


if __name__ == "__main__":
    main()
