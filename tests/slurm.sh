#!/usr/bin/env bash
# Usage: tests/slurm.sh
# Runs the job scripts of docs/cluster on a Slurm cluster of this machine: munged, slurmctld and two slurmd with a disk each.
# Kills and requeues a training in the middle of an epoch, and audits its delivery log. Also starts rank="env" with srun,
# mpirun and torchrun. Installs slurm-wlm, munge, openmpi-bin and libpmix-dev (Debian; root or sudo), and builds the command and the
# package. The cluster has its own process, mount, host name and network namespaces, so it ends with this script, and several
# runs do not meet. In a container, it needs permission for `unshare`. Takes about 3 minutes on two cores.
# PENSTOCK_BUILD=FOLDER: uses this build, and builds nothing.
# shellcheck disable=SC2016,SC2317 # texts for other shells; functions that traps call
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

if [ "${1:-}" != --inside ]; then
  if [ "$(id -u)" != 0 ]; then exec sudo --preserve-env=PENSTOCK_BUILD "$0"; fi
  packages=(slurm-wlm munge openmpi-bin iproute2 libpmix-dev)
  if ! dpkg --status "${packages[@]}" >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  fi
  if [ -z "${PENSTOCK_BUILD:-}" ]; then
    scripts/python_environment.sh
    scripts/build.sh dev penstock_command _penstock >/dev/null
  fi
  folder=$(mktemp -d /tmp/penstock-slurm.XXXXXX)
  end() {
    if [ -n "${cluster:-}" ]; then { kill -KILL "$cluster" && wait "$cluster"; } 2>/dev/null || true; fi
    rm -rf "$folder"
  }
  trap end EXIT
  trap 'exit 130' INT TERM
  # The kernel ends all processes of the namespace when the first one ends, and that one if this script is killed.
  setpriv --pdeathsig KILL unshare --mount --pid --net --uts --fork --mount-proc --kill-child "$0" --inside "$folder" &
  cluster=$!
  wait "$cluster"
  exit
fi

folder=$2 build=${PENSTOCK_BUILD:-$root/build/dev}
export PATH=$root/.venv/bin:$build/bindings/cli:$PATH PYTHONPATH=$build/python OMP_NUM_THREADS=1
export SLURM_CONF=$folder/slurm.conf
chmod 711 "$folder" # munged refuses a socket that others cannot reach
began=$SECONDS
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
fail() {
  problem=$*
  exit 1
}
ended() { # STATUS
  if [ "$1" = 0 ]; then return; fi
  tail -n 20 "$folder"/*.out "$folder"/*.log
  say "tests/slurm.sh: FAILED: ${problem:-}"
}
trap 'ended $?' EXIT

start_cluster() {
  # Slurm and Open MPI need an interface besides the loopback one.
  ip link set lo up
  ip link add node1 type veth peer name node2
  for node in 1 2; do
    ip address add "192.0.2.$node/24" dev "node$node"
    ip link set "node$node" up
  done
  hostname cluster
  printf '127.0.0.1 localhost\n192.0.2.1 node1 cluster\n192.0.2.2 node2\n' >"$folder/hosts"
  mount --bind "$folder/hosts" /etc/hosts
  head -c 1024 /dev/urandom >"$folder/munge.key"
  chmod 400 "$folder/munge.key"
  munged --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munged.seed"
  mkdir "$folder/state" "$folder/local" "$folder/spool-node1" "$folder/spool-node2"
  cat >"$SLURM_CONF" <<END
ClusterName=penstock
SlurmctldHost=cluster
SlurmUser=root
AuthInfo=socket=$folder/munge.socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdParameters=config_overrides
KillWait=5
ReturnToService=2
NodeName=node1 NodeHostname=cluster NodeAddr=node1 Port=17001 CPUs=4
NodeName=node2 NodeHostname=cluster NodeAddr=node2 Port=17002 CPUs=4
PartitionName=main Nodes=node[1-2] Default=YES
END
  slurmctld
  for node in node1 node2; do # each with its own disk in TMPDIR
    unshare --mount bash -c 'mount -t tmpfs tmpfs "$1/local" && exec slurmd -N "$2"' - "$folder" "$node"
  done
  for _ in $(seq 100); do
    if [ "$(sinfo --noheader --format '%T %D')" = 'idle 2' ]; then return; fi
    sleep 0.2
  done
  fail "the nodes did not start"
}

state_of() { scontrol --oneliner show job "$1" | grep -o 'JobState=[A-Z_]*' | sort -u | cut -d= -f2 | paste -sd ' '; }
text_of() { cat "$folder/"*"-$1-"*.out 2>/dev/null || true; }
# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
  local deadline=$((SECONDS + $1))
  until "${@:2}"; do
    if [ $SECONDS -ge $deadline ]; then fail "not within $1 s: ${*:2}"; fi
    sleep 0.1
  done
}
is_in() { [[ " $2 " == *" $(state_of "$1") "* ]]; }
prints() { [[ "$(text_of "$1")" == *"$2"* ]]; }
# ends JOB STATE: waits for the end of the job
ends() {
  wait_for 240 is_in "$1" "COMPLETED FAILED TIMEOUT NODE_FAIL CANCELLED OUT_OF_MEMORY"
  if [ "$(state_of "$1")" != "$2" ]; then text_of "$1"; fail "job $1 is $(state_of "$1") instead of $2"; fi
  if [ "$2" = COMPLETED ] && ! prints "$1" 'usable of'; then fail "job $1 printed no diagnosis"; fi
}
submit() { sbatch --parsable --chdir "$root/docs/cluster" --output "$folder/%x-%A-%a.out" "$@"; }
# audited RUN RESTORES: each sample of both epochs was delivered once, and the training was restored that often
audited() {
  penstock audit "$folder/$1/log" --dataset "$folder/train.tar.d" --json "$folder/$1.json" >"$folder/$1.audit" || cat "$folder/$1.audit"
  python - "$folder/$1.json" "$2" <<'END'
import json
import sys

report = json.load(open(sys.argv[1]))
epochs = report["epochs"]
assert report["good"] and len(epochs) == 2, report
for epoch in epochs:
    assert epoch["verdict"] == "proved", epoch
    assert epoch["delivered"] == epoch["samples"] == 1600 and epoch["left_out"] == 0, epoch
    assert epoch["missing"]["count"] == epoch["twice"]["count"] == 0, epoch
assert sum(epoch["restores"] for epoch in epochs) == int(sys.argv[2]), epochs
END
  sed 's/^/        /' "$folder/$1.audit"
}

start_cluster
say "cluster started: $(slurmctld -V), $(nproc --all) cores"

# --- rank="env"
cat >"$folder/rank.py" <<'END'
import sys

import penstock as ps

stats = ps.Loader(sys.argv[1], batch_size=1, workers=1, rank="env").stats()
print(f"rank {stats['rank']} of {stats['world']}", flush=True)
END
mkdir "$folder/numbers"
python -c "import numpy; [numpy.save(f'$folder/numbers/{i}.npy', numpy.zeros(1)) for i in range(8)]"
penstock info "$folder/numbers" >/dev/null
program=(python "$folder/rank.py" "$folder/numbers")
# ranks EXPECTED_WORLD COMMAND...
ranks() {
  local expected found
  expected=$(for ((rank = 0; rank < $1; rank++)); do echo "rank $rank of $1"; done)
  found=$("${@:2}" 2>"$folder/ranks.log" | sort -V)
  if [ "$found" != "$expected" ]; then fail "${*:2} gave: $found"; fi
  local launcher=${*:2}
  say "ranks 0 to $(($1 - 1)): ${launcher%% python *}"
}
ranks 3 srun --nodes=2 --ntasks=3 "${program[@]}"
ranks 4 srun --mpi=none --nodes=2 --ntasks=4 "${program[@]}"
ranks 4 srun --mpi=pmi2 --nodes=2 --ntasks=4 "${program[@]}"
ranks 2 srun --mpi=pmix --ntasks=2 "${program[@]}" # on two nodes of one host, PMIx servers would share their files
ranks 2 salloc --ntasks=4 srun --ntasks=2 "${program[@]}"
ranks 4 salloc --ntasks=4 mpirun --allow-run-as-root -n 4 "${program[@]}"
ranks 4 srun --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 torchrun --nnodes=2 --nproc-per-node=2 \
  --rdzv-backend=c10d --rdzv-endpoint=node1:29400 --no-python "${program[@]}"
refused() { # JOB: a batch script has no rank
  ends "$1" FAILED
  prints "$1" "start the program with srun" || fail "job $1: $(text_of "$1")"
}
refused "$(submit --ntasks=2 --wrap "${program[*]}")"
srun --ntasks=2 bash -c '[ "$SLURM_PROCID" = 0 ] || exec "$@"' - \
  sbatch --parsable --ntasks=2 --output "$folder/inner-%A-%a.out" --wrap "${program[*]}" >"$folder/inner"
refused "$(cat "$folder/inner")"
say 'rank="env" is refused in batch scripts, also in one that was submitted from inside a step'

# --- penstock run: one screen for the ranks of a node
echo 'from torch.utils.data import DataLoader; [batch for batch in DataLoader(range(400))]' >"$folder/watched.py"
srun --nodes=1 --ntasks=2 penstock run "$folder/watched.py" 2>"$folder/watched.log"
for line in "rank 0: step " "rank 1: step " "Ranks: "; do
  [ "$(grep -c "^\(penstock run: \)\?$line" "$folder/watched.log")" = 1 ] || fail "penstock run: $(cat "$folder/watched.log")"
done
say "penstock run: the ranks of srun have one screen"

# --- packing
penstock synth images "$folder/photos" -n 1600 --num-classes 10 --seed 1 2>/dev/null
penstock info "$folder/photos" >/dev/null
say "1,600 photographs made"
export SHARD_SIZE=8MiB
array=$(submit pack_array.sbatch "$folder/photos" "$folder/train.tar.d")
join=$(submit --dependency=afterok:"$array" pack_join.sbatch "$folder/train.tar.d")
ends "$array" COMPLETED
ends "$join" COMPLETED
penstock verify "$folder/train.tar.d" --against "$folder/photos" >/dev/null
say "pack_array.sbatch, pack_join.sbatch: $(find "$folder/train.tar.d" -name '*.tar' | wc -l) shards, verified"

# --- training
job=$(submit one_node.sbatch "$folder/train.tar.d" "$folder/one_node")
ends "$job" COMPLETED
say "one_node.sbatch: $(text_of "$job" | tail -n 1)"
audited one_node 0

job=$(submit many_nodes.sbatch "$folder/train.tar.d" "$folder/many_nodes")
wait_for 120 prints "$job" "saved after step 20"
scancel --batch --signal=USR1 "$job" # as Slurm does before the time limit
say "many_nodes.sbatch: SIGUSR1 in epoch 0"
wait_for 120 is_in "$job" PENDING
say "requeued: $(text_of "$job" | tail -n 1)"
wait_for 120 prints "$job" "saved after step 60" # an epoch has 50 steps
rank_2() { grep -lz '^SLURM_PROCID=2$' /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | while read -r pid; do
  if grep -qz 'train.py' "/proc/$pid/cmdline"; then echo "$pid"; fi
done; }
kill -KILL "$(rank_2)"
say "rank 2 killed in epoch 1"
ends "$job" FAILED
scontrol requeue "$job"
wait_for 60 is_in "$job" PENDING
ends "$job" COMPLETED
text_of "$job" | grep -E '^(starts|finished)' | sed 's/^/        /'
say "many_nodes.sbatch: completed"
audited many_nodes 2

# --- staging
export TMPDIR=$folder/local
for time in 10m 0s; do
  job=$(STAGE_TIME=$time submit staged.sbatch "$folder/train.tar.d" "$folder/staged-$time")
  ends "$job" COMPLETED
  text_of "$job" | grep 'files copied' | sed 's/^/        /'
  say "staged.sbatch within $time: $(text_of "$job" | tail -n 1)"
  audited "staged-$time" 0
done
[ "$(text_of "$job" | grep -c 'linked to the source')" = 2 ] || fail "no links on the nodes"
say "tests/slurm.sh: passed"
