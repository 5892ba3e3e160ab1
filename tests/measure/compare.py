#!/usr/bin/env python3
"""Compares schedscope with a kube-scheduler that is timed on the same work.

    compare.py [--rounds N] OURS THEIRS DIR...

OURS is the schedscope program, THEIRS a program whose `bench DIR` prints the JSON of `schedscope conformance bench
DIR`. Each DIR holds one workload (cluster.json, pending.json). Both run in turns, so that other load on the machine
meets both. Prints the best rate of each in pods per second, their ratio, and the peak resident memory in MiB. Exits
with 1 where ours is less than 10 times as fast or takes more memory.
"""

import argparse
import json
import os
import subprocess
import sys

RATIO_MIN = 10.0


def measure(command):
    """What the command prints, and its peak resident memory in MiB."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {child.returncode}")
    return json.loads(output), usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("ours")
    parser.add_argument("theirs")
    parser.add_argument("workloads", nargs="+", metavar="DIR")
    args = parser.parse_args()
    print(f"{'workload':30} {'ours/s':>9} {'theirs/s':>9} {'ratio':>6} {'nodes':>13} {'ours MiB':>9} {'theirs MiB':>10}")
    is_good = True
    for folder in args.workloads:
        rates, memory, nodes = ([], []), ([], []), [0, 0]
        for _ in range(args.rounds):
            commands = [args.theirs, "bench", folder], [args.ours, "conformance", "bench", folder]
            for side, command in ((1, commands[0]), (0, commands[1])):
                report, peak = measure(command)
                rates[side].append(report["podsPerSecond"])
                memory[side].append(peak)
                nodes[side] = report["meanEvaluatedNodes"]
        ours, theirs = max(rates[0]), max(rates[1])
        ours_mib, theirs_mib = max(memory[0]), max(memory[1])
        is_good &= ours >= RATIO_MIN * theirs and ours_mib < theirs_mib
        name = os.path.basename(os.path.normpath(folder))
        looked_at = f"{nodes[0]:.0f}/{nodes[1]:.0f}"
        print(
            f"{name:30} {ours:9.0f} {theirs:9.0f} {ours / theirs:6.1f} {looked_at:>13} {ours_mib:9.0f} {theirs_mib:10.0f}",
            flush=True,
        )
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
