#pragma once

// What terminal and page say of a study as it is planned: its selection, workload, factors and design.

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/report/document.h"

namespace expc::report {

/// "preset quick, -D gpus=2"; "" of a whole study.
std::string selectionText(const plan::Plan& plan);

/// "image.mobilenet_v2 version 1"; of several workloads each with its label: "ours = …; theirs = …".
std::string workloadText(const plan::Plan& plan);

/// What stands above all that is said of a study: its name with what is `selected`, its sentence, its workload with
/// what is `beside` that.
std::vector<Paragraph> studyHead(const plan::Plan& plan, const std::string& selected, const std::string& beside);

/// Parameters that have one value at all points and are no factor: "batch 64".
std::vector<std::pair<std::string, std::string>> fixedParameters(const plan::Plan& plan);

/// "precision=fp32 gpus=2 (control again)"; the id of a point that the plan does not have.
std::string placeText(const plan::Plan& plan, const plan::Place& place);

/// "half_width(gain) <= 1.0 %".
std::string untilText(const plan::Plan& plan, const plan::Until& until);

/// A half-width in the sense of `until`.
std::string widthText(const plan::Plan& plan, const plan::Until& until, double width);

}  // namespace expc::report
