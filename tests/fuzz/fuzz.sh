#!/usr/bin/env bash
# Fuzzes every reader for some seconds, or those that are named: fuzz.sh PROGRAM SECONDS [TARGET...]
# Inputs that reach new code are kept in corpus/TARGET beside the program, from one time to the next; one that a reader
# fails on, in crashes/. Prints the number of runs of each.
set -euo pipefail
program=$(realpath "$1") seconds=$2
cd "$(dirname "$program")"
mapfile -t targets < <(CROPE_FUZZ_SEEDS=corpus "$program")
if [ $# -gt 2 ]; then targets=("${@:3}"); fi
mkdir -p crashes
# Readers of files get theirs in memory: on a disk, most of a run is waiting.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
# A small quarantine of freed memory: a larger one makes the system find new pages for every run.
export ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=0:quarantine_size_mb=16
status=0
for target in "${targets[@]}"; do
  # Long inputs only cost time: what counts is in the first lines and headers.
  CROPE_FUZZ_TARGET=$target "$program" "corpus/$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="crashes/${target}_" -print_final_stats=1 -verbosity=0 >"$target.log" 2>&1 || { status=1; tail -n 30 "$target.log"; echo "$target: FAILED"; }
  printf '%-12s %s runs, %s inputs\n' "$target" "$(sed -n 's/stat::number_of_executed_units: *//p' "$target.log")" "$(find "corpus/$target" -type f | wc -l)"
done
exit $status
