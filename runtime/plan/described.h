#pragma once

// The fields of what is part of several documents: bounds and commands of plans and specifications, these of requests
// to workers and to nodes, what was rehearsed of events and files.

#include "runtime/plan/json_record.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/trial.h"

namespace expc::plan {

/// The version of what crosses between engine and workers.
void describeVersion(JsonRecord& io);
/// `timeout_seconds`, where there is one: above 0.
void describeTimeout(JsonRecord& io, std::optional<double>& seconds);
void describe(JsonRecord& io, Bound& bound);
void describe(JsonRecord& io, Expectation& expectation);
void describe(JsonRecord& io, Command& command);
void describe(JsonRecord& io, Rehearsed& rehearsed);
void describe(JsonRecord& io, TrialSpec& spec);
void describe(JsonRecord& io, LaunchRequest& request);
void describe(JsonRecord& io, LaunchReply& reply);

}  // namespace expc::plan
