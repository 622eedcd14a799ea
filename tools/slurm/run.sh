#!/usr/bin/env bash
# Proves profiles/slurm on a Slurm of two nodes that it starts and stops: tools/slurm/run.sh [TARGET]
# TARGET (default: smoke) is what the first comparison runs. As root, with Debian's slurm-wlm and
# munge, and with the environment of the workflow and snakemake-executor-plugin-slurm on PATH; half an
# hour to an hour on two cores. Ends with a list of what holds and what does not, and with status 1 if
# something does not; then the folder with all logs is kept.
set -euo pipefail

target=${1:-smoke}
# What is interrupted, and cut into shards: enough jobs to be in the middle of, in a few minutes.
part=kcef

here=$(cd "$(dirname "$0")" && pwd)
root=$(git -C "$here" rev-parse --show-toplevel)
# Scores name the code that made them, so that a commit during the proof must not change it.
commit=$(git -C "$root" rev-parse HEAD)
work=$(mktemp -d -t kcde-cluster.XXXXXX)
slurm=$work/slurm
verdicts=()
controller=
unset PYTHONPATH
# No variable of this shell is named in the workflow: jobs have it if they have the environment.
export KCDE_CLUSTER_PROOF=reached

say() {
  printf '\n== %s (%s s so far)\n' "$*" "$SECONDS"
}

# check CLAIM COMMAND...: runs it, and remembers whether the claim holds.
check() {
  local claim=$1 verdict=holds
  shift
  "$@" || verdict='DOES NOT HOLD'
  verdicts+=("$verdict: $claim")
  echo "-- ${verdicts[-1]}"
}

finish() {
  local status=$?
  if [ -n "$controller" ] && kill -0 "$controller" 2>/dev/null; then
    kill -9 "$controller"
  fi
  "$here/stop_slurm.sh"
  if [ "$status" -eq 0 ]; then
    rm -rf "$work"
  else
    echo "logs and results are in $work"
  fi
}

checkout() {
  git clone --quiet "$root" "$work/$1"
  git -C "$work/$1" checkout --quiet --detach "$commit"
}

# cluster NAME ARGUMENT...: Snakemake with the profile, in a checkout, at the scale smoke.
cluster() {
  cd "$work/$1"
  shift
  exec python -m snakemake "$@" --profile profiles/slurm --config scale=smoke
}

# run LOG COMMAND...: the same in a subshell, its output in LOG, whose end is shown if it fails.
run() {
  local log=$work/$1.log
  shift
  ("$@") >"$log" 2>&1 || {
    tail -n 30 "$log"
    return 1
  }
}

in_the_end() {
  local waited=0 limit=$1
  shift
  until "$@"; do
    if ((++waited > limit)); then
      echo "waited $limit s in vain for: $*" >&2
      return 1
    fi
    sleep 1
  done
}

compare() {
  python "$here/compare.py" "$@"
}

# same CHECKOUT OTHER [--part]: whether the results are the same but for what is measured. Two
# figures of jdl have curves of seconds, and a page of dde has a table of them.
same() {
  python "$root/tools/same.py" "$1/results/smoke" "$2/results/smoke" "${@:3}" \
    --ignore 'benchmarks/*' --ignore 'parts/*' --ignore-key bytes --ignore-key sha256 \
    --ignore '*/jdl/fig[69].*' --ignore '*/dde/table1.md'
}

# finished NAME [--recorded]: keeps the list of what is finished now.
finished() {
  compare finished "$work/interrupted" "${@:2}" >"$work/$1.json"
}

kept() {
  compare kept "$work/interrupted" "$work/$1.json"
}

jobs_run() {
  [ -n "$(squeue --noheader --state=RUNNING)" ]
}

# amid COUNT: whether so many jobs have left their arrays, and others are running.
amid() {
  local ended
  ended=$(find "$work/interrupted/results/smoke/scores" -name '*.npz' 2>/dev/null | wc -l)
  [ "$ended" -ge "$1" ] && jobs_run
}

node_is() {
  sinfo --noheader --nodes=node1 --format=%T 2>/dev/null | grep -q "^$1"
}

queue_is_empty() {
  [ -z "$(squeue --noheader)" ]
}

# Every process of node1 at once, as when its power fails; slurmd alone would leave the jobs.
kill_node() {
  local tasks steps
  tasks=$(scontrol listpids '*' node1 | awk 'NR > 1 && $1 > 1 {print $1}' | sort -u)
  steps=$(for task in $tasks; do ps -o ppid= -p "$task"; done | sort -u |
    while read -r parent; do
      [ "$(cat "/proc/$parent/comm" 2>/dev/null)" != slurmstepd ] || echo "$parent"
    done)
  # Some of them end between the listing and the signal.
  # shellcheck disable=SC2086
  kill -9 "$(cat "$slurm/node1.pid")" $steps $tasks 2>/dev/null || true
}

requeued() {
  grep 'due to failure of node' "$slurm/slurmctld.log"
}

memory_doubles() {
  mkdir "$work/memory"
  cp -r "$root/profiles" "$work/memory/"
  (
    cd "$work/memory"
    python -m snakemake --snakefile "$here/memory.smk" --profile profiles/slurm grown.txt
  ) >"$work/memory.log" 2>&1 || tail -n 30 "$work/memory.log"
  cat "$work/memory/requests.txt"
  diff "$work/memory/requests.txt" <(printf '%s\n' '500 5' '1000 10')
}

variables_reach() {
  grep -qE '^[0-9]+ reached$' "$work/memory/grown.txt"
}

first_of() {
  (cd "$work/local/results/smoke" && find "$1" -name "$2" | sort | sed -n 1p)
}

# A copy of the local run with a digit added to the end of one table, or of one picture.
difference_shows() {
  local change
  for change in $(first_of scores '*.csv') $(first_of figures '*.png'); do
    rm -rf "$work/changed"
    mkdir "$work/changed"
    cp -r "$work/local/results" "$work/changed/"
    printf 1 >>"$work/changed/results/smoke/$change"
    if same "$work/local" "$work/changed" >"$work/changed.log"; then
      return 1
    fi
    grep -F "$change:" "$work/changed.log" || return 1
  done
}

both_nodes() {
  grep -q 'NodeList=node1 ' "$slurm/slurmctld.log" && grep -q 'NodeList=node2 ' "$slurm/slurmctld.log"
}

nothing_to_do() {
  run "$1-again" cluster "$1" --dry-run "$2" && grep -q 'Nothing to be done' "$work/$1-again.log"
}

# table: makes a small table, and compare.sh FOLDER [OPTION...] beside it.
table() {
  mkdir "$work/table"
  cd "$work/table"
  export PYTHONPATH=$root/src
  python -m kcde houses houses.csv --rows 1500
  cat >compare.sh <<COMMAND
#!/usr/bin/env bash
exec python -m kcde compare houses.csv --y price --splits 4 \\
  --methods LinearGaussian,KernelCDE,Stacked --out "\$@"
COMMAND
  chmod +x compare.sh
}

compared() {
  cd "$work/table"
  PYTHONPATH=$root/src exec ./compare.sh "$@"
}

# All splits of the three methods that are mixed: the second parts wait in the queue.
parts_run() {
  cd "$work/table"
  PYTHONPATH=$root/src sbatch --quiet --wait --array=1-4 --output=part-%a.log \
    --wrap "./compare.sh parts --shard \$SLURM_ARRAY_TASK_ID/4"
  [ "$(find parts/splits -name '*.npz' | wc -l)" -eq 12 ]
}

# But for seconds.
same_comparison() {
  python -c 'import sys, pandas as pd
one, other = (pd.read_csv(path).drop(columns="seconds") for path in sys.argv[1:])
pd.testing.assert_frame_equal(one, other, check_exact=True)' \
    "$work/table/"{alone,parts}"/splits.csv"
}

local_run() {
  cd "$work/local"
  exec python -m snakemake "$target" --cores 2 --config scale=smoke
}

trap finish EXIT
trap 'exit 143' INT TERM
say "Slurm"
"$here/start_slurm.sh" "$slurm"

say "a job that needs more memory than it asked for"
check "a job over its memory is tried again with double memory and time" memory_doubles
check "the submitting shell's variables reach the jobs" variables_reach

say "$target on this host alone"
checkout local
check "$target runs without a cluster" run local local_run
check "a changed table or picture would be found" difference_shows

say "$target on Slurm"
checkout cluster
check "$target runs on Slurm" run cluster cluster cluster "$target"
check "both nodes have had jobs" both_nodes
check "scores and artefacts are those of the local run" same "$work/local" "$work/cluster"
check "nothing is left to do" nothing_to_do cluster "$target"

say "a comparison on Slurm"
(table)
check "a comparison runs without a cluster" run alone compared alone
check "its parts run on Slurm" run parts parts_run
check "the comparison goes on from them" run together compared parts
check "its scores are those of one without a cluster" same_comparison

say "$part, while one of the nodes fails"
checkout interrupted
(cluster interrupted "$part") >"$work/interrupted.log" 2>&1 &
controller=$!
in_the_end 900 amid 8
# A job whose outputs are complete runs again, to the same ones, if its node fails before Slurm knows
# of its end.
finished node-failure --recorded
kill_node
in_the_end 120 node_is down
slurmd -N node1
check "Slurm gives the jobs of the node back to the queue" requeued
in_the_end 60 jobs_run
in_the_end 900 amid 12
check "what was finished when the node failed is not run again" kept node-failure

say "$part, while slurmctld is killed"
finished slurmctld-killed --recorded
kill -9 "$(cat "$slurm/slurmctld.pid")"
sleep 15
slurmctld
in_the_end 600 amid 16
check "what was finished when slurmctld was killed is not run again" kept slurmctld-killed

say "$part, after Snakemake was killed"
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
controller=
# As profiles/slurm/README.md has it. What ends before it is cancelled counts as finished.
squeue --me --noheader --format='%i %j' | awk '$2 ~ /^kcde_/ {print $1}' | xargs --no-run-if-empty scancel
in_the_end 60 queue_is_empty
finished snakemake-killed
run unlock cluster interrupted --unlock
check "$part runs on after a killed controller" run resumed cluster interrupted "$part"
check "what was finished when Snakemake was killed is not run again" kept snakemake-killed
check "scores and artefacts are those of the local run" \
  same "$work/local" "$work/interrupted" --part
check "nothing is left to do" nothing_to_do interrupted "$part"

say "$part, cut into shards"
checkout sharded
echo 'shards: {r_benchmark: 3, factors: 2, samples: 2, consistency: 3}' >"$work/shards.yaml"
check "$part runs in shards" \
  run sharded cluster sharded "$part" --configfile "$work/shards.yaml"
check "scores and artefacts do not depend on the number of shards" \
  same "$work/local" "$work/sharded" --part

say "in short"
printf '%s\n' "${verdicts[@]}"
! printf '%s\n' "${verdicts[@]}" | grep -q '^DOES NOT'
