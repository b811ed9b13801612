#!/usr/bin/env bash
# Several ranks under torchrun and from a plain shell learn as one process does, hold their share of the optimiser, go on
# from what another number of them saved, and evaluate as one: ranks.sh PROGRAM TORCHRUN
set -euo pipefail
program=$1 torchrun=$2
. "$(dirname "$0")/rank_runs.sh"
trap 'rm -rf "$folder"' EXIT
make_data

field() { "$python" -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

for variant in rope crope_all; do
  one=$folder/one_$variant
  "$program" $(run_flags "$one" $variant 20) --checkpoint-every 10 --validate-every 10 --json >"$one.json" 2>/dev/null
  for n in 2 4; do
    several=$folder/${n}_$variant
    ranks $n $(run_flags "$several" $variant 20) --checkpoint-every 10 --validate-every 10 --json >"$several.json" 2>"$folder/err" || { cat "$folder/err"; exit 1; }
    bytes=$(field optimizer_bytes <"$several.json") all=$(field optimizer_bytes <"$one.json")
    echo "$variant, $n ranks: $(same_losses "$one" "$several"); optimiser state $bytes of $all bytes"
    [ $n != 2 ] || [ $((bytes * 100)) -le $((all * 55)) ] || { echo "more than 55%"; exit 1; }
  done

  # Saved by two, gone on with by one and by three.
  for n in 1 3; do
    cp -a "$folder/2_$variant" "$folder/cut"
    ln -sfn checkpoints/step_00000010 "$folder/cut/latest"
    if [ $n = 1 ]; then
      "$program" $(run_flags "$folder/cut" $variant 20) --validate-every 10 >/dev/null 2>"$folder/err"
    else
      ranks $n $(run_flags "$folder/cut" $variant 20) --validate-every 10 >/dev/null 2>"$folder/err"
    fi || { cat "$folder/err"; exit 1; }
    grep -q 'resuming from step 10' "$folder/err"
    echo "$variant, saved by 2, gone on with by $n: $(same_losses "$one" "$folder/cut")"
    rm -rf "$folder/cut"
  done
done

# Without an agent: rank 0 listens itself.
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    "$program" $(run_flags "$folder/shell" rope 20) --checkpoint-every 10 --validate-every 10 >/dev/null 2>"$folder/err$rank" & pids[rank]=$!
done
for rank in 0 1; do wait ${pids[rank]} || { cat "$folder/err$rank"; exit 1; }; done
echo "a shell's two ranks: $(same_losses "$folder/one_rope" "$folder/shell")"

# One results.json, the same numbers.
"$program" eval "$folder/one_rope" --tasks hellaswag,mmlu,gsm8k --data "$folder/world/eval" --out "$folder/eval1" --json >"$folder/eval1.json" 2>/dev/null
ranks 3 eval "$folder/one_rope" --tasks hellaswag,mmlu,gsm8k --data "$folder/world/eval" --out "$folder/eval3" --json >"$folder/eval3.json" 2>"$folder/err" || { cat "$folder/err"; exit 1; }
"$python" - "$folder/eval1.json" "$folder/eval3.json" <<'PY'
import json, sys
one, three = (json.load(open(path))["results"] for path in sys.argv[1:])
assert one.keys() == three.keys()
for task in one:
    for key, value in one[task].items():
        same = abs(value - three[task][key]) < 1e-9 if isinstance(value, float) else value == three[task][key]
        assert same, (task, key, value, three[task][key])
print(f"three ranks evaluate {len(one)} tasks as one does")
PY
[ "$(ls "$folder/eval3")" = results.json ]
[ -z "$(leftovers)" ] || { echo "processes are left"; exit 1; }
