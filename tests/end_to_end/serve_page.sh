#!/usr/bin/env bash
# serve_page.sh CROPE [SCREENSHOTS]: the page of `crope serve` in a browser: writes, stops, opens every view, by pointer and by keyboard, in
# both widths and colour schemes, without a complaint and without a request to anywhere else. Needs Chromium; exits 77 (skipped)
# without one. With a folder as second argument the pictures stay there.
set -euo pipefail
crope=$1
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then echo "skipped: no Chromium" >&2; exit 77; fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
export OMP_WAIT_POLICY=passive

"$crope" data synth --documents 300 --seed 3 --hellaswag-items 4 --mmlu-items 8 --gsm8k-items 4 --out "$work/world" >/dev/null
"$crope" tokenizer train "$work/world/train.jsonl" --vocab-size 512 --out "$work/tokenizer" >/dev/null 2>&1
"$crope" data prepare "$work/world/train.jsonl" --tokenizer "$work/tokenizer" --out "$work/data" >/dev/null 2>&1

# serve_page VARIANT: a run of that variant, served and looked at.
serve_page() {
  local run="$work/$1"
  "$crope" train --data "$work/data" --out "$run" --variant "$1" --num-layers 2 --num-heads 2 --d-model 64 --d-ff 64 --steps 60 \
    --batch-size 8 --seq-len 64 --warmup-steps 5 --validate-every 10 --checkpoint-every 0 --threads 2 --precision fp32 >/dev/null 2>"$work/train.log" ||
    { cat "$work/train.log" >&2; return 1; }
  "$crope" serve "$run" --port 0 >/dev/null 2>"$work/server.log" &
  server=$!
  local address=
  while [ -z "$address" ]; do
    kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; return 1; }
    address=$(sed -n 's|.* at \(http://[^ ]*\).*|\1|p' "$work/server.log")
    sleep 0.05
  done
  python3 "$source_dir/tests/end_to_end/serve_page.py" "$crope" "$address" "$run" "${2:-$work}" || { cat "$work/server.log" >&2; return 1; }
  kill -TERM "$server"
  wait "$server"  # SIGTERM is an orderly end
  server=
}

if [ -n "${2:-}" ]; then mkdir -p "$2"; fi
serve_page rope
serve_page crope_all "${2:-}"
