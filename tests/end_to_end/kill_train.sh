#!/usr/bin/env bash
# A run killed at random moments ends in the weights of an undisturbed one: kill_train.sh PROGRAM [KILLS]
set -euo pipefail
program=$1
kills=${2:-25}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_WAIT_POLICY=passive

"$program" data synth --documents 300 --seed 3 --hellaswag-items 4 --mmlu-items 8 --gsm8k-items 4 --out "$folder/world" >/dev/null
"$program" tokenizer train "$folder/world/train.jsonl" --vocab-size 512 --out "$folder/tokenizer" >/dev/null 2>&1
"$program" data prepare "$folder/world/train.jsonl" --tokenizer "$folder/tokenizer" --out "$folder/data" >/dev/null 2>&1

# Checkpoints and validations at every other step, so that many kills fall into one.
train() {
  "$program" train --data "$folder/data" --out "$1" --variant "$2" --num-layers 2 --num-heads 2 --d-model 32 --d-ff 32 \
    --steps 120 --batch-size 4 --micro-batch-size 3 --seq-len 32 --warmup-steps 5 --checkpoint-every 2 \
    --validate-every 4 --threads 2 --precision fp32 >/dev/null 2>"$folder/err" || { local status=$?; [ "${3:-}" = killed ] || cat "$folder/err"; return $status; }
}

same_files() {
  local name
  for name in model.safetensors train_state.safetensors; do
    cmp "$1/latest/$name" "$2/latest/$name"
  done
  # Every number but those of the clock.
  diff <(sed -E 's/,"tokens_per_second".*//' "$1/metrics.jsonl") <(sed -E 's/,"tokens_per_second".*//' "$2/metrics.jsonl") >/dev/null
}

for variant in rope crope_all; do
  train "$folder/whole_$variant" "$variant"

  # Sixty steps, a kill, sixty more.
  train "$folder/half_$variant" "$variant" killed & pid=$!
  until grep -q '"step":60,' "$folder/half_$variant/metrics.jsonl" 2>/dev/null; do sleep 0.01; done
  pkill -KILL -P $pid || true
  wait $pid 2>/dev/null || true
  train "$folder/half_$variant" "$variant"
  same_files "$folder/whole_$variant" "$folder/half_$variant"
  echo "$variant: killed half-way, the same bits"
done

# Some die while they start, most a few steps on: in an update, a validation, a checkpoint, a link.
RANDOM=20261116
metrics=$folder/hunted/metrics.jsonl
size() { stat -c %s "$metrics" 2>/dev/null || echo 0; }
done_kills=0
for ((i = 0; done_kills < kills; ++i)); do
  if [ "$(readlink "$folder/hunted/latest")" = checkpoints/step_00000120 ]; then # it had finished: once more from the beginning
    same_files "$folder/whole_crope_all" "$folder/hunted"
    rm -r "$folder/hunted"
  fi
  before=$(size)
  train "$folder/hunted" crope_all killed & pid=$!
  if ((i % 4 > 0)); then
    while [ "$(size)" -le "$before" ] && kill -0 $pid 2>/dev/null; do sleep 0.005; done
  fi
  sleep "$(printf '0.%03d' $((RANDOM % 150)))"
  if pkill -KILL -P $pid 2>/dev/null; then done_kills=$((done_kills + 1)); fi
  wait $pid 2>/dev/null || true
done
train "$folder/hunted" crope_all
same_files "$folder/whole_crope_all" "$folder/hunted"
! compgen -G "$folder/hunted/checkpoints/.*.??????" >/dev/null || { echo "leftovers of killed processes"; exit 1; }
echo "killed $done_kills times: the same bits"
