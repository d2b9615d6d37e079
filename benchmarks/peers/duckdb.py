#!/usr/bin/env python3
# Licensed under the Apache License, Version 2.0. See LICENSE.
"""The same queries over the same files on DuckDB, with results in the same JSON.

Makes a virtual environment of its own beside the data (target/benchmarks/duckdb-venv) and installs the wheels of
DuckDB and pyarrow there. Queries come from `trommel-benchmarks list --json`, files from a run of
`trommel-benchmarks run` at the same scale.

Alike are: the files, the number of threads, one untimed run before those that count, footers cached, rows taken
as they come in Arrow batches, and the digest of the answer. DuckDB's cache of file content is off. Bytes and
requests are what the process read by system calls (/proc/self/io, Linux only). Rows decoded, zones and memory
DuckDB doesn't tell.
"""

import argparse
import datetime
import decimal
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = ["duckdb>=2,<3", "pyarrow>=20"]

# Answers of more values than this have no digest: Python is slow.
MAX_VALUES = 4_000_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", default=[], help="a suite, again for more [default: all]")
    parser.add_argument("--query", action="append", default=[], help="a query, as query or suite/query")
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor [default: 1]")
    parser.add_argument("--partitions", type=int, default=os.cpu_count(), help="threads [default: all processors]")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs of each query [default: 5]")
    parser.add_argument("--dir", type=pathlib.Path, help="folder of the data [default: target/benchmarks/scale-F]")
    parser.add_argument("--queries", type=pathlib.Path, help="output of `list --json` [default: asks cargo for it]")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file")
    return parser.parse_args()


def into_own_environment():
    """Starts this script again in its virtual environment, unless it runs there already."""
    folder = ROOT / "target" / "benchmarks" / "duckdb-venv"
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    if not python.exists():
        venv.create(folder, with_pip=True)
    marker = folder / "wheels"
    if not marker.exists() or marker.read_text() != "\n".join(WHEELS):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *WHEELS], check=True)
        marker.write_text("\n".join(WHEELS))
    # Isolated: this file's name is that of the module it imports.
    os.execv(python, [str(python), "-I", str(pathlib.Path(__file__).resolve()), *sys.argv[1:]])


def queries(args):
    """The chosen queries, as objects with suite, query, sql and tables."""
    if args.queries:
        text = args.queries.read_text()
    else:
        command = ["cargo", "run", "--quiet", "--release", "-p", "trommel-benchmarks", "--"]
        command += ["list", "--json", "--scale", str(args.scale)]
        text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    listed = json.loads(text)
    for name in args.suite:
        if all(query["suite"] != name for query in listed):
            sys.exit(f"error: there is no suite {name}")
    if args.suite:
        listed = [query for query in listed if query["suite"] in args.suite]
    for name in args.query:
        if all(name not in names(query) for query in listed):
            sys.exit(f"error: there is no query {name} in these suites")
    if args.query:
        listed = [query for query in listed if not names(query).isdisjoint(args.query)]
    return listed


def names(query):
    return {query["query"], f"{query['suite']}/{query['query']}"}


def reads():
    """Bytes and requests of the process so far."""
    with open("/proc/self/io", encoding="ascii") as file:
        counters = dict(line.split(": ") for line in file.read().splitlines())
    return int(counters["rchar"]), int(counters["syscr"])


def text(value, scale):
    """A value as src/digest.rs writes it; `scale` is that of a decimal column."""
    if value is None:
        return "\0"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        if scale > 4:
            return rounded(float(value))
        plain = format(value, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def rounded(value):
    """Six significant digits, as Rust's {:.5e} writes them."""
    mantissa, exponent = f"{value + 0.0:.5e}".split("e")
    return f"{mantissa}e{int(exponent)}"


class Digest:
    """The number that stands for an answer: see src/digest.rs."""

    def __init__(self, schema):
        self.scales = [getattr(field.type, "scale", 0) for field in schema]
        self.rows = 0
        self.sum = 0
        self.complete = True

    def add(self, batch):
        self.rows += batch.num_rows
        if self.rows * max(1, batch.num_columns) > MAX_VALUES:
            self.complete = False
        if not self.complete:
            return
        columns = [[text(v, scale) for v in c.to_pylist()] for c, scale in zip(batch.columns, self.scales)]
        for row in zip(*columns):
            line = "".join(value + "\x1f" for value in row)
            first = hashlib.md5(line.encode()).digest()[:8]
            self.sum = (self.sum + int.from_bytes(first, "little")) % 2**64

    def hash(self):
        return f"{self.sum:016x}" if self.complete else None


def run(connection, sql, look=None):
    """One run: milliseconds, bytes and requests, rows."""
    bytes_before, requests_before = reads()
    start = time.perf_counter()
    result = connection.execute(sql)
    reader = result.to_arrow_reader(65536) if hasattr(result, "to_arrow_reader") else result.fetch_record_batch(65536)
    digest = Digest(reader.schema) if look else None
    rows = 0
    for batch in reader:
        rows += batch.num_rows
        if digest:
            digest.add(batch)
    elapsed = (time.perf_counter() - start) * 1e3
    bytes_after, requests_after = reads()
    return elapsed, bytes_after - bytes_before, requests_after - requests_before, rows, digest


def record(connection, query, args):
    """The result of one query, as src/record.rs has it."""
    result = {
        "suite": query["suite"],
        "query": query["query"],
        "engine": "duckdb",
        "scale": args.scale,
        "partitions": args.partitions,
        "store": "local",
        "cold": False,
        "repeats": args.repeat,
    }
    fields = ["median_ms", "min_ms", "ratio", "ratio_low", "ratio_high", "bytes_read", "requests", "rows_out"]
    fields += ["rows_decoded", "zones_considered", "zones_skipped", "peak_bytes", "oracle_bytes", "over_oracle"]
    result |= dict.fromkeys([*fields, "answer_hash", "error"])
    try:
        digest = run(connection, query["sql"], look=True)[4]
        runs = [run(connection, query["sql"]) for _ in range(args.repeat)]
        if any(rows != digest.rows for _, _, _, rows, _ in runs):
            raise RuntimeError("the number of rows changed from run to run")
        result |= {
            "median_ms": statistics.median(elapsed for elapsed, *_ in runs),
            "min_ms": min(elapsed for elapsed, *_ in runs),
            "bytes_read": int(statistics.median(count for _, count, *_ in runs)),
            "requests": int(statistics.median(count for _, _, count, *_ in runs)),
            "rows_out": digest.rows,
            "answer_hash": digest.hash(),
        }
    except Exception as error:  # Whatever DuckDB reports is a result.
        result["error"] = str(error)
    return result


def connect(duckdb, folder, args):
    connection = duckdb.connect()
    connection.execute(f"SET threads = {args.partitions}")
    # Footers stay cached, as on the other engines; file content doesn't.
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute("SET enable_external_file_cache = false")
    # Rows come in any order unless a query asks for one, as on the other engines.
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    for file in sorted(folder.glob("[!.]*.parquet")):
        path = str(file).replace("'", "''")
        connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_parquet('{path}')")
    return connection


def main():
    args = arguments()
    into_own_environment()
    import duckdb

    scale = int(args.scale) if args.scale == int(args.scale) else args.scale
    folder = (args.dir or ROOT / "target" / "benchmarks" / f"scale-{scale}").resolve()
    chosen = queries(args)
    missing = {table for query in chosen for table in query["tables"] if not (folder / f"{table}.parquet").exists()}
    if missing:
        sys.exit(f"error: no {', '.join(sorted(missing))} in {folder}: `trommel-benchmarks run` writes them")
    connection = connect(duckdb, folder, args)
    print(f"DuckDB {duckdb.__version__}, {args.partitions} threads, {args.repeat} timed runs, {folder}")
    records = []
    for query in chosen:
        result = record(connection, query, args)
        records.append(result)
        name = f"{result['suite']}/{result['query']}"
        if result["error"]:
            print(f"{name:<34} FAILED: {result['error'].splitlines()[0]}")
        else:
            print(f"{name:<34} {result['median_ms']:10.1f} ms {result['bytes_read'] / 1e6:10.2f} MB")
    if args.json:
        args.json.write_text(json.dumps(records, indent=2) + "\n")
    sys.exit(any(result["error"] for result in records))


if __name__ == "__main__":
    main()
