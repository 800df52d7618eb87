// `expc new --from FILE`: a study that reads what a benchmark program wrote. The format is recognised by a word that
// only its files have, and the levels of the rows are taken from the file. The readers are those of check/tool_formats.

#include "cli/starter_from.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Regex.h>

#include <algorithm>
#include <vector>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace expc::cli {
namespace {

/// A format by its reader: the word that marks it, the column that tells rows apart, with its type and a pattern of its
/// values, and a metric. "" for `key`: it has no rows.
struct Known {
  StringRef mark, reader, key, type, pattern, metric, traits;
};
constexpr Known kKnown[] = {
    {"algbw", "nccl_tests", "size", "Bytes", "(^|\n) *([0-9]+) +[0-9]+ +[a-z0-9_]+ +[a-z]+ +-?[0-9]+ ", "busbw",
     "Bytes / Time higher"},
    {"\"run_type\"", "google_benchmark", "run_name", "string", "\"run_(name)\" *: *\"([^\"\\]+)\"", "real_time",
     "Time lower  from median(google_benchmark(stdout))"},
    {"\"fullname\"", "pytest_benchmark", "fullname", "string", "\"full(name)\" *: *\"([^\"\\]+)\"", "median",
     "Time lower"},
    {"\"fio version\"", "fio", "jobname", "string", "\"job(name)\" *: *\"([^\"\\]+)\"", "read_bw",
     "Bytes / Time higher"},
    {"\"n_prompt\"", "llama_bench", "n_prompt", "int", "\"(n_prompt)\" *: *([0-9]+)", "avg_ts", "Tokens / Time higher"},
    {"_ttft_ms\"", "vllm_bench", "max_concurrency", "int", "\"(max_concurrency)\" *: *([0-9]+)", "mean_ttft_ms",
     "Time lower"},
    {"\"bits_per_second\"", "iperf3", "", "", "", "received", "Bytes / Time higher"},
    {"\"exit_codes\"", "hyperfine", "command", "string", "\"(command)\" *: *\"([^\"\\]+)\"", "median", "Time lower"}};

/// The values that a format's pattern finds, each once, as levels of a study.
std::vector<std::string> levelsIn(StringRef text, const Known& known) {
  std::vector<std::string> levels;
  const llvm::Regex pattern(known.pattern);
  llvm::SmallVector<StringRef> found;
  for (; !known.key.empty() && pattern.match(text, &found); text = text.substr(found[0].end() - text.begin())) {
    std::string level = known.type == "string" ? fmt::format("\"{}\"", found[2].str()) : found[2].str();
    if (known.type == "Bytes") level += "B";
    base::addOnce(levels, std::move(level));
  }
  return levels;
}

/// The end of a starter, whose command still writes the file that it was given.
constexpr const char* kOnce =
    "  // `cat` reads the same numbers in each trial, so that more would only pretend to repeat a measurement. Once\n"
    "  // your program runs here, write `repeat 10`.\n  design { repeat 1 }\n}\n";

}  // namespace

std::optional<std::string> starterFrom(StringRef text, const std::string& file) {
  const auto* known = std::ranges::find_if(kKnown, [&](const Known& one) { return text.contains(one.mark); });
  if (known == std::end(kKnown)) return std::nullopt;
  const std::vector<std::string> levels = levelsIn(text, *known);
  const std::string key = levels.empty() ? "" : known->key.str(), metric = known->metric.str();
  std::string study = fmt::format(
      "/// Put the program that writes {0} in place of `cat`, and its files into `inputs`. docs/readers.md has the "
      "columns.\nworkload job command [\"cat\", {0}] {{\n  inputs {0}\n  outputs {1}(stdout)\n",
      base::jsonLiteral(file), known->reader);
  if (!key.empty()) study += fmt::format("  param {} : {} inside\n", key, known->type.str());
  study += fmt::format("  metric {} : {}\n}}\n\nstudy starter {{\n  workload job\n", metric, known->traits.str());
  if (!key.empty()) study += fmt::format("  factor {} in {{ {} }}\n", key, llvm::join(levels, ", "));
  study += fmt::format("  measure {}\n", metric);
  if (!key.empty()) study += fmt::format("  table {} by {}\n", metric, key);
  return study + kOnce;
}

std::string readersText() {
  std::vector<std::string> names;
  for (const Known& one : kKnown) names.push_back(one.reader.str());
  return llvm::join(names, ", ");
}

}  // namespace expc::cli
