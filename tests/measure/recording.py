#!/usr/bin/env python3
"""Measures what recording costs.

    python3 tests/measure/recording.py target/release/schedscope DIR... [--rounds N]

DIR holds cluster.json (or .yaml) and pending.json, as tests/measure/workloads.py makes them. Three figures for each:

- cycle: two schedulers do the same work in one process, one with a recording beside it, a hundred pods here and the
  same hundred there (`schedscope conformance bench --record`). How much longer the blocks take that are recorded: of
  each round the sum of all blocks, and of these the median.
- session: how much more processor time the thread of the session uses in `schedscope run --record` than in
  `schedscope run`, if perf is there: samples of that thread alone, median of the rounds.
- program: wall-clock time of `run` with and without, the best of the rounds.

Other work on the machine makes the figures scatter; the spread is printed with them.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def run(args):
    start = time.monotonic()
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{args}: {done.stderr.decode()}")
    return time.monotonic() - start, done.stdout.decode()


def samples(folder, args):
    """How often perf found the session's thread at work."""
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-F", "2000", "-o", data, "--", *args],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    report = subprocess.run(["perf", "report", "-i", data, "--sort", "comm", "-n", "--stdio"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    for line in report.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[2] == "schedscope":
            return int(fields[1])
    sys.exit("perf has no samples of the program")


def percent(values):
    return f"{statistics.median(values):+.1f} % (from {min(values):+.1f} to {max(values):+.1f})"


def main():
    args = sys.argv[1:]
    rounds = 5
    if "--rounds" in args:
        at = args.index("--rounds")
        rounds = int(args[at + 1])
        del args[at:at + 2]
    if len(args) < 2:
        sys.exit(__doc__)
    program, folders = args[0], args[1:]
    for cluster in folders:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "a.rec")

            def recorded(args):
                if os.path.exists(file):
                    os.remove(file)
                return [*args, "--record", file]

            cycle, session, plain, with_recording = [], [], [], []
            for _ in range(rounds):
                _, out = run(recorded([program, "conformance", "bench", cluster]))
                report = json.loads(out)
                cycle.append((report["recordedSeconds"] / report["plainSeconds"] - 1) * 100)
                command = [program, "run", "-f", cluster]
                if shutil.which("perf"):
                    alone = samples(folder, command)
                    session.append((samples(folder, recorded(command)) / alone - 1) * 100)
                plain.append(run(command)[0])
                with_recording.append(run(recorded(command))[0])
            print(f"{os.path.basename(cluster)}: {report['pods']} pods, {report['inputs']} inputs, "
                  f"{report['bytes']} bytes, waited {report['waits']} times")
            print(f"  cycle:   {percent(cycle)}; {report['tailSeconds'] * 1000:.1f} ms until all is in the file")
            if session:
                print(f"  session: {percent(session)}")
            best = (min(plain), min(with_recording))
            print(f"  program: {best[0]:.2f} s without, {best[1]:.2f} s with ({(best[1] / best[0] - 1) * 100:+.1f} %)")


main()
