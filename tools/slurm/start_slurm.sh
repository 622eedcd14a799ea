#!/usr/bin/env bash
# A Slurm of two nodes on this host, without systemd: tools/slurm/start_slurm.sh FOLDER
# FOLDER (outside the checkout) takes what the daemons write. Jobs find the configuration in
# /etc/slurm alone, since no variable of the submitting shell reaches slurmstepd; one that this
# script has not written is never replaced. tools/slurm/stop_slurm.sh ends all of it.
set -euo pipefail

configuration=/etc/slurm/slurm.conf
mark='# written by tools/slurm/start_slurm.sh; deleted by stop_slurm.sh'

fail() {
  echo "start_slurm.sh: $*" >&2
  exit 1
}

[ $# -eq 1 ] || fail "say where the daemons may write: start_slurm.sh FOLDER"
[ "$(id -u)" -eq 0 ] || fail "slurmd starts the jobs of all users: run this as root"
for command in munged slurmctld slurmd sbatch scontrol; do
  command -v "$command" >/dev/null ||
    fail "$command is missing: apt-get install slurm-wlm munge (slurmctld, slurmd, slurm-client)"
done
if [ -e "$configuration" ]; then
  grep -qxF "$mark" "$configuration" ||
    fail "$configuration belongs to another Slurm: use a host without one"
  fail "a Slurm of this script may be running: tools/slurm/stop_slurm.sh first"
fi

mkdir -p "$1"
folder=$(cd "$1" && pwd)
host=$(hostname -s)
mkdir -p "$folder/state"
# Half each of what `slurmd -C` finds; of the memory less, as what is free when a node registers varies.
memory=$(slurmd -C | sed -n 's/.*RealMemory=\([0-9]*\).*/\1/p')
((memory = memory * 9 / 20))

# The timeouts are those of a node that is given up within half a minute. Not every container has
# the cgroups that a cluster uses: the memory of jobs is sampled every second, and the processes of
# a step are its process group (linuxproc loses those whose parent was the first to end).
mkdir -p "$(dirname "$configuration")"
cat >"$configuration" <<CONFIGURATION
$mark
# folder: $folder
ClusterName=kcde
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n.spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/affinity
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=5
MinJobAge=600
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=1 RealMemory=$memory
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=1 RealMemory=$memory
PartitionName=cpu Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP
CONFIGURATION

(umask 077 && dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none)
# --force: the socket lies in a folder that need not be open to other users.
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
  --seed-file="$folder/munge.seed"
slurmctld
slurmd -N node1
slurmd -N node2

for ((waited = 0; waited < 30; waited++)); do
  if [ "$(sinfo --noheader --format=%T 2>/dev/null)" = "idle" ] && [ "$(sinfo --noheader --format=%D)" = 2 ]; then
    echo "Slurm is up: $(sinfo --noheader --format='partition %P, %D node, %c CPUs, %m MB')"
    exit 0
  fi
  sleep 1
done
fail "no idle node within 30 s: read $folder/slurmctld.log and slurmd.log, then stop_slurm.sh"
