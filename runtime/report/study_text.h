#pragma once

// What terminal and page say of a study as it is planned: its selection, workload, factors and design.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::report {

/// "preset quick, -D gpus=2"; "" of a whole study.
std::string selectionText(const plan::Plan& plan);

/// "image.mobilenet_v2 version 1"; of several workloads each with its label: "ours = …; theirs = …".
std::string workloadText(const plan::Plan& plan);

/// "0, 1, 2, …, 999 (1000 levels)".
std::string levelsText(const plan::Factor& factor);

/// What the study declares, "1..4"; "" where that is what `levelsText` says.
std::string declaredText(const plan::Factor& factor);

/// Parameters that have one value at all points and are no factor: "batch 64".
std::vector<std::pair<std::string, std::string>> fixedParameters(const plan::Plan& plan);

/// "precision=fp16 gpus=1" from the labels of a removed point.
std::string exampleText(const plan::Plan& plan, const std::vector<std::string>& labels);

/// "precision=fp32 gpus=2 (control again)"; the id of a point that the plan does not have.
std::string placeText(const plan::Plan& plan, const plan::Place& place);

/// Points that can be run here, and how many trials of `kind` that makes.
uint64_t availablePoints(const plan::Plan& plan);

/// The metrics of `kind`, by name.
std::vector<std::string> metricsOf(const plan::Plan& plan, plan::TrialKind kind);

/// "steps 20, warmup 5".
std::string settingsText(const llvm::json::Object& settings);

/// "10", or "10..20" where repetitions adapt.
std::string repetitionsText(const plan::KindDesign& design);

/// "half_width(gain) <= 1.0 %".
std::string untilText(const plan::Plan& plan, const plan::Until& until);

/// A half-width in the sense of `until`.
std::string widthText(const plan::Plan& plan, const plan::Until& until, double width);

}  // namespace expc::report
