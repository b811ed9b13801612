#!/usr/bin/env bash
# Kills `crope data prepare` at random moments, 25 times (or KILLS) without mercy and five times politely, and checks that
# nothing that looks whole is left, and that the preparation that is let through gives the shards of an undisturbed one.
#
#   tests/end_to_end/kill_prepare.sh build/release/crope [KILLS]
set -euo pipefail

readonly crope="$(realpath "$1")"
readonly kills="${2:-25}"
readonly folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
RANDOM=7

fail() { printf 'kill_prepare: %s\n' "$*" >&2; exit 1; }

# About 40 MB of text in documents of varying length, the same at every run.
awk 'BEGIN {
  srand(1)
  for (d = 0; d < 20000; d++) {
    words = 1 + int(rand() * 600)
    printf "{\"text\": \""
    for (w = 0; w < words; w++) printf "%s%d ", substr("thequickbrownfoxjumps", 1 + int(rand() * 15), 1 + int(rand() * 6)), rand() * 100
    print "\"}"
  }
}' > corpus.jsonl
head -n 200 corpus.jsonl > sample.jsonl
"$crope" tokenizer train sample.jsonl --vocab-size 400 --out tokenizer > /dev/null 2>&1 || fail "no tokenizer"

prepare() { exec "$crope" data prepare corpus.jsonl --tokenizer tokenizer --shard-tokens 1000000 --out "$1"; }
leftovers() { find . -maxdepth 1 -name '.out.*' | wc -l; }

start=$(date +%s%N)
(prepare reference) > /dev/null 2>&1
readonly milliseconds=$((($(date +%s%N) - start) / 1000000))

# Starts a preparation, sends it signal $1 at a random moment, and sets `status`.
disturb() {
  (prepare out) > /dev/null 2>&1 &
  local pid=$!
  sleep "$(awk "BEGIN { print $((RANDOM % milliseconds)) / 1000 }")"
  kill -s "$1" "$pid" 2> /dev/null || true
  status=0
  wait "$pid" 2> /dev/null || status=$?
}

killed=0
for _ in $(seq "$kills"); do
  disturb KILL
  if [ "$status" -ne 0 ]; then
    killed=$((killed + 1))
    # It may have been killed after its last act, the renaming: then the folder must be whole.
    [ ! -e out ] || diff -r reference out > /dev/null || fail "a killed preparation left a folder that is not whole"
  fi
  [ "$(leftovers)" -le 1 ] || fail "leftovers pile up"
  rm -rf out
done
[ "$((4 * killed))" -ge "$kills" ] || fail "only $killed of $kills were killed before their end"

for _ in $(seq 5); do
  disturb INT
  [ "$status" -eq 0 ] || [ "$status" -eq 1 ] || [ "$status" -eq 130 ] || fail "status $status after an interrupt"
  [ "$status" -ne 1 ] || { [ ! -e out ] && [ "$(leftovers)" -eq 0 ]; } || fail "an interrupted preparation left something"
  rm -rf out
done

(prepare out) > /dev/null 2>&1
[ "$(leftovers)" -eq 0 ] || fail "leftovers were not removed"
diff -r reference out || fail "the shards differ from those of an undisturbed preparation"
printf 'kill_prepare: %d of %d killed, shards equal\n' "$killed" "$kills"
