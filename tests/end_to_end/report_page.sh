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

# A study of three variants and two seeds: the models of the goldens, and losses made up.
for variant in rope crope_all half_rope_all; do
  for seed in 0 1; do
    run="$work/study/${variant}_$seed"
    mkdir -p "$run/checkpoints"
    cp -r "$source_dir/tests/data/goldens/$variant" "$run/checkpoints/step_00000400"
    ln -s checkpoints/step_00000400 "$run/latest"
    awk -v seed="$seed" 'BEGIN { for (s = 1; s <= 400; ++s) { loss = 3 + 0.01 * seed + 4 * exp(-s / 60);
      printf "{\"step\":%d,\"tokens\":%d,\"loss\":%.4f,\"tokens_per_second\":9000,\"elapsed_s\":%d}\n", s, 512 * s, loss, s;
      if (s % 40 == 0) printf "{\"step\":%d,\"val_loss\":%.4f}\n", s, loss + 0.1 } }' >"$run/metrics.jsonl"
  done
done
"$crope" report "$work/study" --skip-examples --out "$work/report" >/dev/null

PYTHONPATH="$source_dir/tests/end_to_end" python3 - "$work/report/index.html" <<'CHECK'
import sys
from browser import Browser

with Browser() as page:
    for scheme in ("light", "dark"):
        page.colours(scheme)
        for width in (1280, 390):
            page.size(width, 2000)
            page.open("file://" + sys.argv[1])
            wide = page.value("document.documentElement.scrollWidth")
            print(f"at {width}, {scheme}: page {wide} wide")
            if wide > width:
                sys.exit(f"at {width} pixels the page is {wide} wide")
            empty = page.value("[...document.querySelectorAll('.row svg')].filter(e => e.getBoundingClientRect().height < 20).length")
            if empty or not page.value("document.querySelectorAll('.row svg text').length > 20"):
                sys.exit(f"at {width} pixels {empty} figures cannot be seen")
    if page.complaints:
        sys.exit(f"the console has complaints: {page.complaints}")
CHECK
