#!/usr/bin/env bash
# An evaluation killed at random moments ends in the results of an undisturbed one: kill_eval.sh PROGRAM [KILLS]
set -euo pipefail
program=$(realpath "$1")
kills=${2:-25}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_WAIT_POLICY=passive
cd "$folder"
RANDOM=20261118

"$program" data synth --documents 100 --seed 3 --hellaswag-items 60 --mmlu-items 40 --gsm8k-items 10 --out world >/dev/null
"$program" tokenizer train world/train.jsonl --vocab-size 400 --out tokenizer >/dev/null 2>&1
"$program" data prepare world/train.jsonl --tokenizer tokenizer --out data >/dev/null 2>&1
"$program" train --data data --out run --variant crope_all --num-layers 2 --num-heads 2 --d-model 64 --d-ff 64 --steps 5 --batch-size 2 \
  --seq-len 256 --validate-every 0 --threads 1 >/dev/null 2>&1

evaluate() { "$program" eval run --tasks hellaswag,mmlu,gsm8k --data world/eval --threads 1 --out "$1" >/dev/null 2>err; }
lines() { { cat "$1"/*.jsonl "$1"/.*.jsonl 2>/dev/null || true; } | wc -l; }

evaluate whole || { cat err; exit 1; }

# Each gets a little further than the one before: a kill falls into its start, its answers or its results.
done_kills=0
for ((i = 0; done_kills < kills; ++i)); do
  before=$(lines hunted)
  evaluate hunted & pid=$!
  if ((i % 4 > 0)); then
    while [ "$(lines hunted)" -le "$before" ] && kill -0 $pid 2>/dev/null; do sleep 0.005; done
  fi
  sleep "$(printf '0.%03d' $((RANDOM % 200)))"
  if pkill -KILL -P $pid 2>/dev/null; then done_kills=$((done_kills + 1)); fi
  wait $pid 2>/dev/null || true
  if [ -e hunted/results.json ]; then # it had finished: once more from the beginning
    cmp whole/items.jsonl hunted/items.jsonl
    rm -r hunted
  fi
done
evaluate hunted || { cat err; exit 1; }
cmp whole/items.jsonl hunted/items.jsonl
python3 - <<'END'
import json
whole, hunted = (json.load(open(f"{name}/results.json")) for name in ("whole", "hunted"))
assert whole["results"] == hunted["results"] and whole["n-samples"] == hunted["n-samples"]
END
echo "killed $done_kills times: the same results"
