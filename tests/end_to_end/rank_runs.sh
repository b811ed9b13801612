# What the tests of several ranks share; sourced with the program in $program and torchrun in $torchrun.
[ -x "$torchrun" ] || { echo "skipped: there is no torchrun at $torchrun"; exit 77; }
python=$(dirname "$torchrun")/python
folder=$(mktemp -d)
export OMP_WAIT_POLICY=passive

make_data() {
  "$program" data synth --documents 300 --seed 3 --hellaswag-items 8 --mmlu-items 8 --gsm8k-items 4 --out "$folder/world" >/dev/null
  "$program" tokenizer train "$folder/world/train.jsonl" --vocab-size 512 --out "$folder/tokenizer" >/dev/null 2>&1
  "$program" data prepare "$folder/world/train.jsonl" --tokenizer "$folder/tokenizer" --out "$folder/data" >/dev/null 2>&1
}

# run_flags RUN VARIANT STEPS: the arguments of a small run.
run_flags() {
  echo train --data "$folder/data" --out "$1" --variant "$2" --num-layers 2 --num-heads 2 --d-model 64 --d-ff 64 \
    --steps "$3" --batch-size 12 --micro-batch-size 3 --seq-len 32 --warmup-steps 5 --precision fp32 --keep-checkpoints 0 --sample-tokens 0
}

# ranks N ARGUMENT...: the program as N ranks on this machine.
ranks() { "$torchrun" --nproc-per-node "$1" --no-python "$program" "${@:2}"; }

# same_losses ONE OTHER: prints the largest difference of the two runs' losses, and fails above 1e-4 or when steps differ.
same_losses() {
  "$python" - "$1/metrics.jsonl" "$2/metrics.jsonl" <<'PY'
import json, sys
def losses(path):
    return [(line["step"], kind, line[kind]) for line in map(json.loads, open(path)) for kind in ("loss", "val_loss") if kind in line]
one, other = map(losses, sys.argv[1:])
assert [x[:2] for x in one] == [x[:2] for x in other], f"other steps: {len(one)} and {len(other)}"
worst = max(abs(a[2] - b[2]) for a, b in zip(one, other))
print(f"{len(one)} losses, largest difference {worst:.1e}")
sys.exit(worst > 1e-4)
PY
}

# What is left of the processes that train below this test's folder.
leftovers() { pgrep -f -- "--out $folder/" || true; }
