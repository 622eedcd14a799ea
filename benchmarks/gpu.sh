#!/usr/bin/env bash
# What a GPU has to show, in at most eight minutes: benchmarks/gpu.sh [RESULTS], in an environment
# with cupy (KCDE_ENV=gpu envs/run benchmarks/gpu.sh). Every estimator against numpy; the rate of a
# solve (benchmarks/results/gpu.csv); then KCEF and LSCDE of kcef's table 2 at the paper's scale,
# eight jobs at once, for five minutes: score files in RESULTS (default results), which a second run
# goes on from. benchmarks/device_jobs.py compares them with those of a host.
set -euo pipefail
cd "$(dirname "$0")/.."
results=${1:-results}

python -m pytest -m gpu -p no:cacheprovider -n 4 tests/gpu tests/unit/numerics tests/contract
python benchmarks/gpu.py

for dataset in winequality-white winequality-red parkinsons; do python -m kcde fetch "$dataset"; done
start=$SECONDS
for dataset in white-wine parkinsons red-wine; do
  for method in KCEF-M KCEF-F LSCDE-M LSCDE-F; do
    scores=$results/paper/scores/factors/$dataset/$method.csv
    [ -e "$scores" ] || echo "$dataset $method --scale paper --backend cupy -o $scores"
  done
done | timeout 300 xargs -r -P 8 -L 1 python -m kcde run factors || [ $? = 124 ]
echo "kcef table 2: $(find "$results/paper/scores/factors" -name '*.csv' | wc -l) of 12 jobs," \
  "$((SECONDS - start)) s in this run"
