#include "tests/support/worker/idle.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <thread>

#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/declared/parameter_table.h"

namespace expc::null {
namespace {

using protocol::LaunchRequest;
using protocol::TrialSpec;

struct Parameters {
  double duration = 0.01, step = 0.01, noise = 0.01, quality = 0.9;
  std::string fault = "none";
  int64_t fault_rank = 0;
  double fault_rate = 1;
};

/// In the order of stdlib/null.exp.
void describeParameters(workload::ParameterTable& table, Parameters& result) {
  table.number("duration", result.duration, 0, 3600, "Time");
  table.number("step", result.step, 0, 3600, "Time");
  table.number("noise", result.noise, 0, 1);
  table.number("quality", result.quality, 0, 1);
  table.declare("data", "source", "nothing");  // nothing is read
  table.declare("gpus", "int", 1);
  table.declare("nodes", "int", 0);
  if (const auto* fault = table.declare("fault", "fault", "none")) result.fault = fault->getAsString().value_or("");
  table.whole("fault_rank", result.fault_rank, 0, 1023);
  table.number("fault_rate", result.fault_rate, 0, 1);
}

/// Uniform in (0, 1), a function of the text alone.
double uniform(const std::string& text) {
  uint64_t bits = std::stoull(base::shortHash(text), nullptr, 16);
  return (double(bits >> 11) + 0.5) / double(1ull << 53);
}

/// Standard normal, a function of the text alone (Box and Muller 1958).
double normal(const std::string& text) {
  return std::sqrt(-2 * std::log(uniform(text + "/radius"))) *
         std::cos(2 * std::numbers::pi * uniform(text + "/angle"));
}

void sleepSeconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Not here, but for this trial: the fault of its parameters, if this rank and this trial are to have it.
std::string faultOf(const LaunchRequest& request, const Parameters& parameters) {
  if (parameters.fault_rank != request.rank) return parameters.fault == "leave" ? "left" : "none";
  const double rate = parameters.fault_rate;
  if (rate < 1 && uniform("fault/" + request.spec.trial) >= rate) return "none";
  return parameters.fault;
}

double stepsOf(const TrialSpec& spec) { return spec.settings.getNumber("steps").value_or(1); }

/// Made up, like all that it tells.
protocol::Rehearsed rehearsed(const TrialSpec& spec) {
  protocol::RehearsedRank rank;
  rank.host_memory = 100 << 20;
  rank.device_memory_allocated = 1 << 30;
  rank.device_memory_reserved = 2ull << 30;
  rank.launches = spec.world_size;
  protocol::Rehearsed result;
  result.steps = unsigned(stepsOf(spec));
  result.ranks.assign(spec.world_size, rank);
  return result;
}

/// A breakdown as of a worker that trains (runtime/worker/profile/breakdown.h), of steps that take `step` seconds.
void addBreakdown(protocol::Event& event, const TrialSpec& spec, double step) {
  const double steps = stepsOf(spec);
  const auto add = [&](const char* name, double share) {
    event.series[name] = json::Array{share * step * steps, steps, 0.0};
  };
  add("profile.total", 1);
  add("profile.step.forward", 0.3);
  add("profile.step.backward", 0.6);
  add("profile.operator.null::sleep", 0.8);
  if (spec.world_size > 1) add("profile.beside.all_reduce", 0.2);
}

protocol::Event result(const TrialSpec& spec, const Parameters& parameters, double startup, bool leave_one_out) {
  std::string seed = std::to_string(spec.seed);
  std::string own = seed + base::canonicalJson(json::Object(spec.parameters));
  const double noise = parameters.noise;
  // What the block's members share cancels in pairs; what each has of its own does not.
  const double step = parameters.step * std::exp(noise * (2 * normal(seed) + normal(own)));
  protocol::Event event;
  event.type = protocol::Event::Type::Result;
  for (const std::string& name : spec.metrics) {
    if (leave_one_out) {
      leave_one_out = false;
      continue;
    }
    if (name == "step_time") {
      event.metrics[name] = step;
    } else if (name == "profiled_time") {
      event.metrics[name] = step * stepsOf(spec);
    } else if (name == "startup_time") {
      event.metrics[name] = startup;
    } else if (name == "accuracy") {
      event.metrics[name] = std::min(1.0, parameters.quality * std::exp(noise * normal(own + "/accuracy")));
    } else {
      event.metrics[name] = nullptr;  // not on this device
    }
  }
  if (spec.kind == plan::TrialKind::Profile) addBreakdown(event, spec, step);
  if (spec.kind == plan::TrialKind::Quality) event.series["loss"] = json::Array{1.0, 0.5, 0.25};
  if (spec.rehearsal && !leave_one_out) event.rehearsed = rehearsed(spec);
  event.environment["pid"] = int64_t(getpid());
  return event;
}

}  // namespace

int runIdle(const LaunchRequest& request, int event_fd) {
  auto begin = std::chrono::steady_clock::now();
  serve::EventWriter events(event_fd);
  const TrialSpec& spec = request.spec;
  if (spec.workload == protocol::kHeatUp) {
    std::printf("rank %u of %u is heated up\n", request.rank, spec.world_size);
    sleepSeconds(spec.settings.getNumber("seconds").value_or(0));
    if (request.rank == 0) events.write(result(spec, Parameters(), 0, false));
    return 0;
  }
  if (spec.workload != kWorkload || spec.workload_version != kWorkloadVersion) {
    events.failed("this worker has no " + spec.workload + " version " + std::to_string(spec.workload_version));
    return 1;
  }
  auto parameters = workload::read(kWorkload, spec.parameters, describeParameters);
  if (!parameters) {
    events.failed(toString(parameters.takeError()));
    return 1;
  }
  std::string fault = faultOf(request, *parameters);
  std::printf("rank %u of %u, fault %s\n", request.rank, spec.world_size, fault.c_str());
  events.started();
  double startup = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (fault == "hang") sleepSeconds(1e6);
  while (fault == "flood" && events.progress(1, 2, "steps")) {
  }
  if (fault == "garbage") events.writeRaw("step 3 of 10, loss nan\n");
  if (fault == "exit") {
    std::fprintf(stderr, "the last words of rank %u\n", request.rank);
    return 7;
  }
  if (fault == "abort") std::abort();
  events.progress(0, 2, "steps");
  sleepSeconds(parameters->duration / 2);
  events.progress(1, 2, "steps");
  sleepSeconds(parameters->duration / 2);
  if (fault == "left") {
    events.lostOthers("lost the others");
    return 1;
  }
  if (fault == "leave") {
    sleepSeconds(0.05);  // the others complain first
    events.failed("null.idle was asked to leave");
    return 1;
  }
  if (fault == "silent") return 0;
  if (fault == "refuse") {
    events.failed("null.idle was asked to fail");
    return 1;
  }
  if (const bool host = fault == "host_out_of_memory"; host || fault == "out_of_memory") {
    events.infeasible("out of memory, as asked", host);
    return 1;
  }
  if (request.rank == 0) events.write(result(spec, *parameters, startup, fault == "missing_metric"));
  if (fault == "late_exit") return 9;
  if (fault == "late_hang") sleepSeconds(1e6);
  return 0;
}

json::Value describe() {
  using plan::TrialKind;
  const workload::Declared idle{std::string(kWorkload),
                                kWorkloadVersion,
                                workload::declared(describeParameters),
                                {{"step_time"},
                                 {"startup_time"},
                                 {"device_memory_peak"},
                                 {"accuracy", TrialKind::Quality},
                                 {"profiled_time", TrialKind::Profile}}};
  return json::Object{{"v", protocol::kTrialVersion},
                      {"build", serve::executableDigest()},
                      {"libraries", json::Object{}},
                      {"workloads", json::Array{workload::toJson(idle)}}};
}

}  // namespace expc::null
