#include "compiler/check/tool_formats.h"

#include <algorithm>

#include "runtime/base/format.h"

namespace expc::check {
namespace {

using From = plan::CommandMetric::From;

/// A row of nccl-tests: sizes, then time, bandwidths and wrong elements out of place, then those in place.
ToolFormat ncclTests() {
  const auto number = [](const char* name) { return fmt::format(" +(?<{}>[0-9.e+]+)", name); };
  const auto wrong = [](const char* name) { return fmt::format(" +(?<{}>N/A|[0-9.e+]+)", name); };
  return {"nccl_tests",
          From::Regex,
          R"(^ *(?<size>[0-9]+) +(?<count>[0-9]+) +(?<type>\w+) +(?<redop>\w+) +(?<root>-?[0-9]+))" + number("time") +
              number("algbw") + number("busbw") + wrong("wrong") + "(?:" + number("in_time") + number("in_algbw") +
              number("in_busbw") + wrong("in_wrong") + ")?",
          {{"size", "", "B"},
           {"count"},
           {"type"},
           {"redop"},
           {"root"},
           {"time", "", "us"},
           {"algbw", "", "GB/s"},
           {"busbw", "", "GB/s"},
           {"wrong"},
           {"in_time", "", "us"},
           {"in_algbw", "", "GB/s"},
           {"in_busbw", "", "GB/s"},
           {"in_wrong"}}};
}

/// Single runs of google-benchmark. An argument stands in the name alone: `BM_copy/4096/threads:2`.
ToolFormat googleBenchmark() {
  const std::string row = "/benchmarks/run_type=iteration/", unit = row + "time_unit";
  ToolFormat format{"google_benchmark", From::Json, row + "{name}", {}};
  for (const char* time : {"real_time", "cpu_time"}) format.columns.push_back({time, row + time, "s", unit});
  format.columns.push_back({"bytes_per_second", row + "bytes_per_second", "B/s"});
  format.columns.push_back({"max_bytes_used", row + "max_bytes_used", "B"});
  format.columns.push_back({"family", row + "run_name", "", "", "^(?<part>[^/]*)"});
  format.columns.push_back({"arg", row + "run_name", "", "", "^[^/]*/(?:[A-Za-z_]+:)?(?<part>[0-9]+)"});
  format.columns.push_back({"arg2", row + "run_name", "", "", "^[^/]*/[^/]*/(?:[A-Za-z_]+:)?(?<part>[0-9]+)"});
  return format;
}

ToolFormat pytestBenchmark() {
  const std::string row = "/benchmarks/*/";
  ToolFormat format{"pytest_benchmark", From::Json, row + "params/{name}", {}};
  for (const char* text : {"name", "fullname", "group"}) format.columns.push_back({text, row + text});
  for (const char* time : {"min", "max", "mean", "stddev", "median", "iqr", "q1", "q3", "total", "data"})
    format.columns.push_back({time, row + "stats/" + time, "s"});
  for (const char* number : {"ops", "rounds", "iterations"})
    format.columns.push_back({number, row + "stats/" + number});
  return format;
}

ToolFormat fio() {
  const std::string row = "/jobs/*/";
  ToolFormat format{"fio", From::Json, row + "job options/{name}", {{"jobname", row + "jobname"}}};
  for (const char* size : {"bs", "size"}) format.columns.push_back({size, row + "job options/" + size, "B", "."});
  for (const std::string way : {"read", "write"}) {
    format.columns.push_back({way + "_iops", row + way + "/iops"});
    format.columns.push_back({way + "_bw", row + way + "/bw_bytes", "B/s"});
    format.columns.push_back({way + "_lat", row + way + "/lat_ns/mean", "ns"});
    for (const auto& [name, percentile] : {std::pair("p50", "50"), {"p90", "90"}, {"p99", "99"}, {"p99_9", "99.9"}})
      format.columns.push_back(
          {way + "_" + name, fmt::format("{}{}/clat_ns/percentile/{:.6f}", row, way, std::stod(percentile)), "ns"});
  }
  return format;
}

ToolFormat llamaBench() {
  ToolFormat format{"llama_bench", From::Json, "/*/{name}", {}};
  for (const char* time : {"avg_ns", "stddev_ns", "samples_ns"})
    format.columns.push_back({time, std::string("/*/") + time, "ns"});
  for (const char* rate : {"avg_ts", "stddev_ts", "samples_ts"})
    format.columns.push_back({rate, std::string("/*/") + rate, "tok/s"});
  return format;
}

/// The results of `vllm bench serve`: one document, or with --append-result one on each line. Also those of `vllm bench
/// latency` and `throughput`.
ToolFormat vllmBench() {
  ToolFormat format{"vllm_bench", From::Json, "/{name}", {}};
  for (const char* time : {"duration", "elapsed_time", "avg_latency", "std_latency", "latencies"})
    format.columns.push_back({time, std::string("/") + time, "s"});
  for (const char* rate : {"output_throughput", "total_token_throughput", "tokens_per_second"})
    format.columns.push_back({rate, std::string("/") + rate, "tok/s"});
  for (const char* of : {"ttft", "tpot", "itl", "e2el"})
    for (const char* which : {"mean", "median", "std", "p50", "p90", "p95", "p99"}) {
      const std::string name = fmt::format("{}_{}_ms", which, of);
      format.columns.push_back({name, "/" + name, "ms"});
    }
  return format;
}

ToolFormat iperf3() {
  // Rates are in bits.
  constexpr double kBit = 0.125;
  return {"iperf3",
          From::Json,
          "",
          {{"sent", "/end/sum_sent/bits_per_second", "B/s", "", "", kBit},
           {"received", "/end/sum_received/bits_per_second", "B/s", "", "", kBit},
           {"intervals", "/intervals/*/sum/bits_per_second", "B/s", "", "", kBit},
           {"retransmits", "/end/sum_sent/retransmits"},
           {"rtt", "/end/streams/*/sender/mean_rtt", "us"},
           {"rate", "/end/sum/bits_per_second", "B/s", "", "", kBit},
           {"jitter", "/end/sum/jitter_ms", "ms"},
           {"lost", "/end/sum/lost_percent", "%"},
           {"cpu_local", "/end/cpu_utilization_percent/host_total", "%"},
           {"cpu_remote", "/end/cpu_utilization_percent/remote_total", "%"}}};
}

ToolFormat hyperfine() {
  const std::string row = "/results/*/";
  ToolFormat format{"hyperfine", From::Json, row + "parameters/{name}", {{"command", row + "command"}}};
  for (const char* time : {"mean", "stddev", "median", "user", "system", "min", "max", "times"})
    format.columns.push_back({time, row + time, "s"});
  format.columns.push_back({"memory_usage_byte", row + "memory_usage_byte", "B"});
  return format;
}

}  // namespace

const ToolColumn* ToolFormat::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ToolColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

const std::vector<ToolFormat>& toolFormats() {
  static const std::vector<ToolFormat> kFormats = {ncclTests(),  googleBenchmark(), pytestBenchmark(), fio(),
                                                   llamaBench(), vllmBench(),       iperf3(),          hyperfine()};
  return kFormats;
}

const ToolFormat* findToolFormat(std::string_view word) {
  const auto found = std::ranges::find(toolFormats(), word, &ToolFormat::word);
  return found == toolFormats().end() ? nullptr : &*found;
}

}  // namespace expc::check
