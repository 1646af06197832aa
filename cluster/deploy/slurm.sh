#!/bin/bash
# Starts Ray on every node of a SLURM allocation, runs a command on the first one, and ends with its status.
# With the environment active; it, the home folder and the store are shared by all nodes:
#   sbatch --nodes=4 cluster/deploy/slurm.sh tiltmeter job=survey cluster=existing store=/shared/store
#SBATCH --job-name=tiltmeter
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=12:00:00
#SBATCH --no-kill
set -euo pipefail

export seconds_to_join=${TILTMETER_SECONDS_TO_JOIN:-300}
export own_megabytes=2000          # for Ray's processes and the driver: workers get the rest
export object_store_megabytes=256  # tables go through the store, not through Ray

fail() {
  echo "slurm.sh: $*" >&2
  exit 2
}

# The address that other nodes reach this one by, and ports that nobody uses, so that jobs can share a node.
address_and_ports() {
  python - <<'PYTHON'
import socket

import ray

with socket.create_server(("", 0)) as first, socket.create_server(("", 0)) as second:
    ports = [free.getsockname()[1] for free in (first, second)]
print(ray.util.get_node_ip_address(), *ports)
PYTHON
}

# What a node runs until it is told to stop; its CPUs, GPUs and memory are those of the allocation.
start_ray() {
  local megabytes=${SLURM_MEM_PER_NODE:-$((${SLURM_MEM_PER_CPU:-0} * SLURM_CPUS_ON_NODE))}
  local memory=()
  # Without a limit (--mem=0) Ray takes what the node has.
  ((megabytes == 0)) || memory=(--memory=$(((megabytes - own_megabytes - object_store_megabytes) << 20)))
  # Ray opens its own folder to everybody: it lies in one that nobody else can enter.
  mkdir -m 700 "$temporary" 2>/dev/null || [[ -O $temporary && ! -L $temporary ]] ||
    { echo "slurm.sh: $temporary belongs to somebody else on $(hostname): remove it" >&2; exit 2; }
  exec ray start --block --disable-usage-stats --log-color=false --temp-dir="$temporary/ray" \
    --dashboard-agent-listen-port=0 --num-cpus="$SLURM_CPUS_ON_NODE" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" \
    "${memory[@]}" --object-store-memory=$((object_store_megabytes << 20)) "$@"
}

# $1: the first node, counted from 0; $2: how many; then options of `ray start`.
on_nodes() {
  srun --relative="$1" --nodes="$2" --ntasks="$2" --cpus-per-task="$SLURM_CPUS_PER_TASK" --no-kill \
    bash -c 'start_ray "$@"' start_ray "${@:3}" &
}

wait_for_head() {
  until : 2>/dev/null </dev/tcp/"$host"/"$port"; do
    if ((SECONDS > seconds_to_join)) || ! kill -0 $! 2>/dev/null; then fail "Ray did not start on $host: see above"; fi
    sleep 1
  done
}

wait_for_nodes() {
  python - "$1" <<'PYTHON'
import os
import sys
import time

import ray

wanted, until = int(sys.argv[1]), time.monotonic() + int(os.environ["seconds_to_join"])
ray.init(log_to_driver=False, logging_level="error")
while (joined := sum(node["Alive"] for node in ray.nodes())) < wanted:
    if time.monotonic() > until:
        sys.exit(f"slurm.sh: {joined} of {wanted} nodes have joined: see above, or raise TILTMETER_SECONDS_TO_JOIN")
    time.sleep(1)
PYTHON
}

stop() {
  trap '' TERM INT
  # shellcheck disable=SC2046 # one word for each process
  kill $(jobs -p) 2>/dev/null || true
  wait
  rm -f "$RAY_AUTH_TOKEN_PATH"
  # On a node that was lost it fails, which says nothing of the command.
  srun --nodes="$num_nodes" --ntasks="$num_nodes" rm -rf "$temporary" || true
}

(($#)) || fail "no command: sbatch cluster/deploy/slurm.sh tiltmeter cluster=existing store=<shared folder>"
command -v ray >/dev/null || fail "ray is not on the PATH: activate Tiltmeter's environment before sbatch"

num_nodes=$SLURM_JOB_NUM_NODES
mkdir -p ~/.ray
RAY_AUTH_TOKEN_PATH=$(mktemp ~/.ray/"slurm-$SLURM_JOB_ID-XXXXXX")  # of mode 600
export RAY_AUTH_TOKEN_PATH RAY_AUTH_MODE=token
export temporary=/tmp/ray-$SLURM_JOB_ID
export -f start_ray
trap stop EXIT
trap 'exit 143' TERM INT
od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$RAY_AUTH_TOKEN_PATH"
chosen=$(address_and_ports)
read -r host port client_port <<<"$chosen"
export RAY_ADDRESS=$host:$port

on_nodes 0 1 --head --node-ip-address="$host" --port="$port" --ray-client-server-port="$client_port" \
  --include-dashboard=false
wait_for_head
((num_nodes == 1)) || on_nodes 1 $((num_nodes - 1)) --address="$RAY_ADDRESS"
wait_for_nodes "$num_nodes"

# A shell that waits heeds a signal at once; one whose command is in the foreground does not.
"$@" &
wait $!
