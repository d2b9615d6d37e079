#!/bin/sh
# Licensed under the Apache License, Version 2.0. See LICENSE.
#
# Counts the instructions of the micro-benchmarks: one run of each, under callgrind. The numbers don't depend on
# what else the machine does, so that a change of a percent can be seen.
#
#   benchmarks/callgrind.sh [BENCH…]     verdicts, decoding, queue, optimizer; all by default
#
# Only functions named counted_region_* count, and what they call.

set -eu
cd "$(dirname "$0")/.."
command -v valgrind > /dev/null || { echo "valgrind is not installed" >&2; exit 1; }
[ $# -gt 0 ] || set -- verdicts decoding queue optimizer

out=target/callgrind
mkdir -p "$out"
for bench in "$@"; do
    binary=$(cargo bench -p trommel-benchmarks --bench "$bench" --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\/deps\/'"$bench"'-[^"]*\)".*/\1/p' | tail -1)
    # `a::b` for each benchmark, `a::b::argument` for each with arguments. divan gives plain lists to nextest only.
    NEXTEST=1 "$binary" --list --format terse | sed -n 's/: benchmark$//p' | while IFS= read -r name; do
        file=$out/$bench-$(printf %s "$name" | tr -c 'a-zA-Z0-9' _)
        valgrind --tool=callgrind --callgrind-out-file="$file.out" --collect-atstart=no \
            --toggle-collect='*counted_region_*' \
            "$binary" --bench --exact "$name" --sample-count 1 --sample-size 1 < /dev/null > "$file.log" 2>&1 || {
            echo "$name failed: see $file.log" >&2
            continue
        }
        printf '%-48s %15s instructions\n' "$name" "$(sed -n 's/^.*Collected : \([0-9]*\).*$/\1/p' "$file.log")"
    done
done
