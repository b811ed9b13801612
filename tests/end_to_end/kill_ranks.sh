#!/usr/bin/env bash
# Ranks that die, hang or are told to stop: kill_ranks.sh PROGRAM TORCHRUN [KILLS]
set -euo pipefail
program=$1 torchrun=$2 kills=${3:-10}
. "$(dirname "$0")/rank_runs.sh"
agent=0
cleanup() { [ $agent = 0 ] || kill -KILL $agent 2>/dev/null || true; rm -rf "$folder"; }
trap cleanup EXIT
make_data
RANDOM=20261116

workers() { pgrep -P $agent -f -- "--out $1" || true; }
steps_of() { grep -c '"loss"' "$1/metrics.jsonl" 2>/dev/null || true; }
# wait_for_step RUN STEP: until the run has come there, or the agent has gone.
wait_for_step() { until grep -q "\"step\":$2," "$1/metrics.jsonl" 2>/dev/null || ! kill -0 $agent 2>/dev/null; do sleep 0.05; done; }
nothing_left() {
  local i
  for ((i = 0; i < 100; ++i)); do [ -n "$(leftovers)" ] || return 0; sleep 0.1; done
  echo "processes are left:"; leftovers; return 1
}

steps=$((kills * 20 + 20))
"$program" $(run_flags "$folder/whole" crope_all $steps) --validate-every 0 >/dev/null 2>&1

# A random rank is killed again and again, each time after some more steps.
"$torchrun" --nproc-per-node 2 --max-restarts "$kills" --monitor-interval 0.1 --no-python "$program" $(run_flags "$folder/hunted" crope_all $steps) \
  --checkpoint-every 5 --validate-every 0 >/dev/null 2>"$folder/hunted.log" & agent=$!
for ((i = 1; i <= kills; ++i)); do
  wait_for_step "$folder/hunted" $((i * 18 - RANDOM % 7))
  mapfile -t alive < <(workers "$folder/hunted")
  [ ${#alive[@]} = 2 ] || { echo "kill $i: ${#alive[@]} ranks instead of 2"; tail -30 "$folder/hunted.log"; exit 1; }
  kill -KILL "${alive[RANDOM % 2]}"
  while kill -0 "${alive[0]}" 2>/dev/null || kill -0 "${alive[1]}" 2>/dev/null; do sleep 0.05; done
  until [ "$(workers "$folder/hunted" | wc -l)" = 2 ] || ! kill -0 $agent 2>/dev/null; do sleep 0.05; done
done
wait $agent || { tail -30 "$folder/hunted.log"; exit 1; }
agent=0
[ "$(grep -c 'resuming from step' "$folder/hunted.log")" -ge 1 ]
echo "killed $kills times: $(same_losses "$folder/whole" "$folder/hunted")"
nothing_left

# A rank that hangs is given up within the timeout, with a message.
"$torchrun" --nproc-per-node 2 --no-python "$program" $(run_flags "$folder/hung" rope 100000) --checkpoint-every 5 --validate-every 0 --rank-timeout 5 \
  >/dev/null 2>"$folder/hung.log" & agent=$!
wait_for_step "$folder/hung" 10
mapfile -t alive < <(workers "$folder/hung")
start=$(date +%s)
kill -STOP "${alive[1]}"
wait $agent && { echo "a hung rank was no failure"; exit 1; }
agent=0
grep -q 'rank 0: error: rank 0 of 2: .* failed' "$folder/hung.log" || grep -q 'rank 1: error: rank 1 of 2: .* failed' "$folder/hung.log" || { cat "$folder/hung.log"; exit 1; }
grep -q 'does not answer' "$folder/hung.log"
echo "a rank that hangs: the group ended after $(($(date +%s) - start)) s, of which the agent waits up to 30 s for the hung one"
nothing_left

# The agent is told to stop: a checkpoint of the last finished step.
"$torchrun" --nproc-per-node 2 --no-python "$program" $(run_flags "$folder/told" rope 100000) --checkpoint-every 0 --validate-every 0 >/dev/null 2>"$folder/told.log" & agent=$!
wait_for_step "$folder/told" 10
kill -TERM $agent
wait $agent || true
agent=0
nothing_left
last=$(readlink "$folder/told/latest") || { cat "$folder/told.log"; exit 1; }
[ "$(printf 'checkpoints/step_%08d' "$(steps_of "$folder/told")")" = "$last" ]
grep -q 'run the same command again to resume' "$folder/told.log"
echo "told to stop: $last"
