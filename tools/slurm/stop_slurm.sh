#!/usr/bin/env bash
# End what tools/slurm/start_slurm.sh started, and delete its configuration.
set -euo pipefail

configuration=/etc/slurm/slurm.conf
mark='# written by tools/slurm/start_slurm.sh; deleted by stop_slurm.sh'

if [ ! -e "$configuration" ]; then
  echo "stop_slurm.sh: there is no $configuration, hence nothing to stop" >&2
  exit 0
fi
if ! grep -qxF "$mark" "$configuration"; then
  echo "stop_slurm.sh: $configuration belongs to another Slurm, which stays as it is" >&2
  exit 1
fi
folder=$(sed -n 's/^# folder: //p' "$configuration")

# Jobs first: slurmd leaves the processes of jobs alone when it ends.
for ((waited = 0; waited < 30; waited++)); do
  jobs=$(timeout 5 squeue --noheader --format=%A 2>/dev/null || true)
  [ -n "$jobs" ] || break
  # Snakemake in a job takes the first signal as a wish to finish what it has begun.
  # shellcheck disable=SC2086
  timeout 10 scancel $jobs 2>/dev/null || true
  sleep 1
done

for name in node1 node2 slurmctld munged; do
  pid=$(cat "$folder/$name.pid" 2>/dev/null || true)
  daemon=${name/node[12]/slurmd}
  # A number that is left over from a killed daemon may be another process by now.
  [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$daemon" ] || continue
  kill "$pid"
  for ((waited = 0; waited < 10; waited++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 1
  done
  kill -9 "$pid" 2>/dev/null || true
done
rm -f "$configuration"
echo "Slurm is down; its logs are in $folder"
