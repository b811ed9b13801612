#!/usr/bin/env bash
# report_page.sh CROPE: a report of the test data opens in a browser without a complaint, in both widths and colour schemes, and nothing
# reaches past the edge of a narrow screen. Needs Chromium; exits 77 (skipped) without one.
set -euo pipefail
crope=$1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then echo "skipped: no Chromium" >&2; exit 77; fi
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A run directory without metrics: the model of the goldens, and losses made up.
for variant in rope crope_all half_rope_all; do
  run="$work/$variant"
  mkdir -p "$run/checkpoints"
  cp -r "$source_dir/tests/data/goldens/$variant" "$run/checkpoints/step_00000400"
  ln -s checkpoints/step_00000400 "$run/latest"
  awk 'BEGIN { for (s = 1; s <= 400; ++s) { loss = 3 + 4 * exp(-s / 60);
    printf "{\"step\":%d,\"tokens\":%d,\"loss\":%.4f,\"tokens_per_second\":9000,\"elapsed_s\":%d}\n", s, 512 * s, loss, s;
    if (s % 50 == 0) printf "{\"step\":%d,\"val_loss\":%.4f}\n", s, loss + 0.1 } }' >"$run/metrics.jsonl"
done
"$crope" report "$work/rope" "$work/crope_all" "$work/half_rope_all" --skip-examples --out "$work/report" >/dev/null

page="$work/report/index.html"
# The same page, saying how wide it has become: a phone must not have to scroll sideways.
sed 's|</body>|<script>document.title = "width " + document.documentElement.scrollWidth + " of " + window.innerWidth;</script></body>|' "$page" >"$work/report/probe.html"
for width in 1280 500; do
  dump=$("$browser" --headless=new --no-sandbox --disable-gpu --enable-logging=stderr --v=0 --window-size=$width,2000 --dump-dom "file://$work/report/probe.html" 2>"$work/messages")
  if grep -q 'CONSOLE' "$work/messages"; then grep 'CONSOLE' "$work/messages" >&2; exit 1; fi
  read -r is of < <(sed -n 's|.*<title>width \([0-9]*\) of \([0-9]*\)</title>.*|\1 \2|p' <<<"$dump")
  if [ -z "${is:-}" ] || [ "$is" -gt "$of" ]; then echo "at $width pixels the page is ${is:-?} wide in a window of ${of:-?}" >&2; exit 1; fi
  echo "at $width: page $is, window $of"
done
