"""The studies that the tests of `expc lsp` ask about."""

JOBS = """/// How a model is tuned.
enum method { none, lora, qlora }

/// Trains for a while.
workload train {
  param method : method = none
  /// Rank of the adapters.
  param rank   : int in 1..256 = 8  when method in { lora, qlora }
  param gpus   : int in 1..8 = 1
  param size   : Pixels in 16px..1024px = 224px
  /// Wall time of it all.
  metric wall     : Time lower timed
  metric accuracy : Share higher quality
}
"""

TWINS = """import "jobs.exp"

enum source { dali, native }
workload other {
  param gpus   : int in 1..8 = 1
  param source : source = native
  param layout : source = dali
  metric wall : Time lower timed
}
reference seen from "seen.csv" { gpus  wall = column(s) * 1s }

study twins {
  workload ours   = other(layout = native)
  workload theirs = jobs.train(method = none)
  factor gpus in 1..2  baseline 1
  metric per_gpu = wall / 2 lower
  compare faster = speedup(wall) over workload against theirs
  compare grows  = ratio(faster) over gpus
  control again  = [gpus = 2, workload = ours]
  criterion wins: forall gpus: faster[workload = ours] >= 1.0x  with confidence 95%
  design { timed { repeat 10  steps 5 }  seed 7 }
}

study pairs {
  workload other()
  factor (source, layout) in { (dali, native), (native, dali) }  baseline (dali, native)
  measure wall
  compare gain = speedup(wall) over (source, layout)
  criterion wins: forall *: gain >= 1.0x  with confidence 95%
  design { timed { repeat 10  steps 5 }  seed 7 }
}
"""

STUDY = """import "jobs.exp"
import std.image

/// Does tuning cost time?
study cost {
  workload jobs.train(size = 300px)
  factor method in { none, lora, qlora }  baseline none
  factor gpus in 1..4  baseline 1
  let most = 4
  require few: gpus <= most and method != qlora or gpus == 1  because "it cannot"
  compare slower = ratio(wall) over method
  criterion cheap: forall gpus: slower[method = lora] <= 1.5x  with confidence 95%
  design { timed { repeat 10  steps 5 }  seed 7 }
  table slower by gpus, method
  preset quick { only gpus in { 1, 2 }  remove criterion cheap }
}
"""
