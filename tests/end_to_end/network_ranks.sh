#!/usr/bin/env bash
# Two network namespaces joined by a cable, as two machines would be: network_ranks.sh PROGRAM TORCHRUN
set -euo pipefail
program=$1 torchrun=$2
. "$(dirname "$0")/rank_runs.sh"
here=crope$$
cleanup() {
  local side
  for side in a b; do
    ip netns pids $here$side 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del $here$side 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap cleanup EXIT
if ! ip netns add ${here}a 2>/dev/null; then echo "skipped: no network namespaces (needs root and iproute2)"; exit 77; fi
ip netns add ${here}b
ip link add ${here}x netns ${here}a type veth peer name ${here}y netns ${here}b || { echo "skipped: no veth pairs"; exit 77; }
for side in "a x 10.83.0.1" "b y 10.83.0.2"; do
  set -- $side
  ip -n $here$1 addr add "$3/24" dev $here$2
  ip -n $here$1 link set $here$2 up
  ip -n $here$1 link set lo up
done
make_data

# machine NUMBER ARGUMENT...: torchrun on one of the two, one rank each.
machine() {
  local side=$([ "$1" = 0 ] && echo a || echo b)
  ip netns exec $here$side "$torchrun" --nnodes 2 --node-rank "$1" --nproc-per-node 1 --master-addr 10.83.0.1 --master-port 29500 \
    --no-python "$program" "${@:2}"
}

"$program" $(run_flags "$folder/one" crope_all 20) --validate-every 10 >/dev/null 2>&1
machine 1 $(run_flags "$folder/two" crope_all 20) --validate-every 10 --checkpoint-every 10 >/dev/null 2>"$folder/err1" & other=$!
machine 0 $(run_flags "$folder/two" crope_all 20) --validate-every 10 --checkpoint-every 10 >/dev/null 2>"$folder/err0" || { cat "$folder"/err?; exit 1; }
wait $other || { cat "$folder"/err?; exit 1; }
echo "two machines: $(same_losses "$folder/one" "$folder/two")"

# The cable is cut for longer than the timeout.
for n in 0 1; do
  machine $n $(run_flags "$folder/cut" crope_all 100000) --validate-every 0 --checkpoint-every 5 --rank-timeout 5 >/dev/null 2>"$folder/err$n" & pids[n]=$!
done
until grep -q '"step":10,' "$folder/cut/metrics.jsonl" 2>/dev/null || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.05; done
ip -n ${here}a link set ${here}x down
start=$(date +%s)
for n in 0 1; do wait "${pids[n]}" && { echo "machine $n noticed nothing"; exit 1; }; done
for n in 0 1; do grep -o "rank $n: error: rank $n of 2: .*" "$folder/err$n" | head -1 || { cat "$folder/err$n"; exit 1; }; done
echo "the cable cut: both ended after $(($(date +%s) - start)) s"
[ -z "$(leftovers)" ] || { echo "processes are left"; exit 1; }
