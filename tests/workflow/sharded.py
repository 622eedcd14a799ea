"""A configuration that shards experiments, and jobs that it shards."""

SHARDS = """
shards:
  r_benchmark: 3
  larger_sets: 2
  table1_readings: 3
  factors: 2
  samples: 2
  planar: 2
  consistency: 3
  moments: 2
  portfolio: 2
  donut: 2
  terrain: 2
  traffic: 2
"""
"""At `smoke` an experiment has up to three repetitions, the terrain and traffic one."""

JOBS = {
    "r_benchmark": ("results/smoke/r_benchmark/smoke-mixed/LSCDE.csv", 3),
    "larger_sets": ("results/smoke/larger_sets/smoke-mixed/LSCDE-exact.csv", 2),
    "table1_readings": ("results/smoke/table1_readings/smoke-mixed/KCEF.csv", 3),
    "factors": ("results/smoke/factors/grid-60/LSCDE-F/01-03.csv", 2),
    "samples": ("results/smoke/samples/smoke-joint/KEF.csv", 2),
    "planar": ("results/smoke/planar/ring/KEF.csv", 2),
    "consistency": ("results/smoke/consistency.csv", 3),
    "moments": ("results/smoke/moments/gaussian-1-200/JDL.csv", 2),
    "portfolio": ("results/smoke/portfolio/portfolios-2-300/JDL.csv", 2),
    "donut": ("results/smoke/donut/donut/LSCDE.csv", 2),
    "terrain": ("results/smoke/terrain/smoke-terrain/LSCDE.csv", 1),
    "traffic": ("results/smoke/traffic/smoke-traffic/LSCDE.csv", 1),
}
"""A job of every shardable experiment, and its parts where `shards` asks for up to three."""
