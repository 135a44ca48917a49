#!/usr/bin/env bash
# An agent on each of these machines; Ctrl-C ends them.
#   examples/fleet/ssh.sh redis://bus:6379 redis:6379 load1 load2 load3
set -euo pipefail
bus=$1 target=$2
shift 2
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
hosts=("$@")
for index in "${!hosts[@]}"; do
    # With a terminal of its own, the agent gets the hangup when this script ends.
    ssh -tt "${hosts[$index]}" redyno agent --bus "'$bus'" --target "'$target'" --index "$index" --of "${#hosts[@]}" </dev/null &
done
wait
