#!/usr/bin/env bash
# A study killed half-way and started again ends as an undisturbed one: kill_reproduce.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_WAIT_POLICY=passive

study() { "$program" reproduce --scale smoke --out "$1" --json >"$1.json" 2>"$1.log"; }

study "$folder/whole" || { cat "$folder/whole.log"; exit 1; }

# Killed while the third variant trains, and once more while a later one does.
for run in crope_qkv_0 half_rope_all_0; do
  study "$folder/cut" & pid=$!
  until grep -q '"step":20' "$folder/cut/$run/metrics.jsonl" 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
  pkill -KILL -P $pid || true
  wait $pid 2>/dev/null || true
done
study "$folder/cut" || { cat "$folder/cut.log"; exit 1; }

cmp "$folder/whole/claims.json" "$folder/cut/claims.json"
for run in "$folder"/whole/*_0; do
  cmp "$run/latest/model.safetensors" "$folder/cut/$(basename "$run")/latest/model.safetensors"
done
[ -s "$folder/cut/report/index.html" ]
grep -q 'trained already' "$folder/cut.log"
echo "killed twice: the same claims, the same weights"
