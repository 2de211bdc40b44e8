#!/usr/bin/env bash
# What a call costs in batches of 16, 64 and 128 calls, in instructions as valgrind counts them; a batch whose cost is
# linear has equal numbers in a line. The run around the batch is spread over its calls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
program=$(cargo bench -p runloom-tests --bench batch --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"executable":"\([^"]*\/batch-[^"]*\)".*/\1/p' | tail -n 1)
[ -n "$program" ] || { echo "the bench does not build" >&2; exit 1; }

# count CASE CALLS TIMES: instructions of the whole program.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" "$3" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

sizes=(16 64 128)
printf '%-20s' 'instructions a call'
printf '%10s' "${sizes[@]}"
printf '%10s\n' '128:16'
for case in shared exclusive resources trees approvals approvals-reversed client; do
  printf '%-20s' "$case"
  for calls in "${sizes[@]}"; do
    cost=$((($(count "$case" "$calls" 5) - $(count "$case" "$calls" 1)) / 4 / calls))
    printf '%10d' "$cost"
    [ "$calls" != 16 ] || first=$cost
  done
  awk -v a="$cost" -v b="$first" 'BEGIN { printf "%10.2f\n", a / b }'
done
