#!/usr/bin/env bash
# A study killed half-way and started again ends as an undisturbed one, in one process and side by side; one of its runs
# can be made again bit for bit: kill_reproduce.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_WAIT_POLICY=passive

study() { "$program" reproduce --scale smoke --out "$1" --json "${@:2}" >"$1.json" 2>"$1.log"; }

# kill_in FOLDER RUN ARGUMENTS...: starts the study and kills it while RUN trains.
kill_in() {
  study "$1" "${@:3}" & local pid=$!
  until grep -q '"step":20' "$1/$2/metrics.jsonl" 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
  pkill -KILL -P $pid || true
  wait $pid 2>/dev/null || true
}

same_study() {
  cmp "$1/claims.json" "$2/claims.json"
  for run in "$1"/*_0; do
    cmp "$run/latest/model.safetensors" "$2/$(basename "$run")/latest/model.safetensors"
  done
  [ -s "$2/report/index.html" ]
  grep -q 'trained already' "$2.log"
}

study "$folder/whole" || { cat "$folder/whole.log"; exit 1; }
for run in crope_qkv_0 half_rope_all_0; do kill_in "$folder/cut" $run; done
study "$folder/cut" || { cat "$folder/cut.log"; exit 1; }
same_study "$folder/whole" "$folder/cut"
echo "killed twice: the same claims, the same weights"

# Side by side every run has one thread, so its bits are compared with those of such a study.
study "$folder/pair" --jobs 2 || { cat "$folder/pair.log"; exit 1; }
kill_in "$folder/cut_pair" crope_qkv_0 --jobs 2
while pgrep -f "$folder/cut_pair" >/dev/null; do sleep 0.05; done # its runs stop when the study is killed
study "$folder/cut_pair" --jobs 2 || { cat "$folder/cut_pair.log"; tail -n 5 "$folder"/cut_pair/*.log; exit 1; }
same_study "$folder/pair" "$folder/cut_pair"
echo "killed side by side: the same claims, the same weights"

"$program" reproduce --scale smoke --out "$folder/pair" --only rope_0 --json >"$folder/again.json" 2>"$folder/again.log" ||
  { cat "$folder/again.log"; exit 1; }
grep -q '"identical":true' "$folder/again.json"
echo "made again: the same metrics"
