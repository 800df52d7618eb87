// `expc data inspect`: what is in a data set, and what is wrong with it. The argument is a data set, or a study, of
// whose points every distinct set is inspected as they read it. Rows are encoded here, by the readers that a worker
// uses; they need no torch.

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/data_sets.h"
#include "cli/study_rows.h"
#include "compiler/lower/lower.h"
#include "compiler/points/prepared.h"
#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/numbers.h"
#include "runtime/base/parallel.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"
#include "runtime/data/dataset/inspect_images.h"
#include "runtime/data/dataset/inspect_rows.h"

namespace expc::cli {

using json::Array;
using json::Object;
namespace {

namespace fs = std::filesystem;

/// The metric whose estimate is the memory that a step takes.
constexpr const char* kMemory = "device_memory_peak";

/// The memory that `plan` estimates for the point that needs most, on each device.
struct MemoryCost {
  std::string point;               // its label; "" if the study has one point
  double longest = 0, median = 0;  // bytes, with the longest row, and if every row had the median length
};

/// A data set to inspect.
struct Subject {
  std::variant<dataset::RowsSource, data::Source> source;
  std::optional<MemoryCost> memory;
};

// ---- the sets of a study

/// Returns the images that a point of image.mobilenet_v2 reads; nothing if they are made up.
std::optional<Subject> imagesOf(const Object& parameters, const fs::path& root) {
  using Kind = data::Source::Kind;
  const std::string path = pathIn(parameters, "data", root);
  const auto* level = parameters.getObject("data");
  if (path.empty()) return std::nullopt;
  for (const Kind kind : {Kind::Mnist, Kind::Folder, Kind::Packed})
    if (StringRef(level->begin()->first) == dataset::toString(kind)) return Subject{data::Source{kind, path, 0}, {}};
  return std::nullopt;
}

/// Returns the levels of a point, "method=lora, rank=8"; "" if nothing varies.
std::string labelOf(const Plan& plan, const Point& point) {
  std::vector<std::string> levels;
  for (size_t i = 0; i < plan.factors.size(); ++i)
    if (point.levels[i] != plan::kInactive && plan.factors[i].levels.size() > 1)
      levels.push_back(plan.factors[i].name + "=" + plan.factors[i].levels[point.levels[i]].label);
  return base::joined(levels);
}

/// Returns the estimates of all points if every row had the median length, by the points' ids.
std::map<std::string, double> medianMemory(Compilation& compilation, const StudyOptions& options,
                                           const check::System& system) {
  // Only the lookups change, so everything that could be reported was reported before.
  diag::Collector ignored;
  diag::Emitter quiet{ignored};
  compilation.program->lookup = [asked = compilation.program->lookup](std::string_view function,
                                                                      std::span<const check::Value> arguments) {
    std::vector<check::Value> changed(arguments.begin(), arguments.end());
    if (function == "row_tokens" && changed[0].toString() == "\"longest\"") changed[0].node = std::string(kMedianRow);
    return asked(function, changed);
  };
  std::map<std::string, double> bytes;
  for (const auto& prepared : points::Prepared::all(*compilation.program, options, &system, quiet))
    if (const auto plan = lower::planOf(*prepared, quiet))
      for (const Point& point : plan->points)
        if (const auto* at = entryOf(point.estimates, kMemory)) bytes[point.id] = *at;
  return bytes;
}

/// Returns the distinct sets of a study's points.
Expected<std::vector<Subject>> subjectsOf(const StudyOptions& options, const Console& console) {
  Compilation compilation;
  TRY(openWithoutErrors(options, console, compilation));
  compilation.program->lookup = fileLookups(options.file, compilation.notes, /*byte_limit=*/0);
  auto system = TRY(findSystem(*compilation.program, "local", {}));
  const ChosenPlans plans = TRY(plansFor(system, options, std::nullopt, compilation, console));
  const fs::path root = fs::path(options.file).parent_path();
  const std::map<std::string, double> median = medianMemory(compilation, options, system);
  base::InOrder<std::string, Subject> found;
  for (const ChosenPlan& one : plans)
    for (const Point& point : one.plan.points) {
      const std::string key = keyOf(point.parameters);
      if (!found.contains(key)) {
        const std::string& workload = one.plan.workloads[point.workload].name;
        std::optional<Subject> subject;
        if (workload == "image.mobilenet_v2") subject = imagesOf(point.parameters, root);
        if (workload == "llm.finetune")
          if (auto rows = rowsOf(point.parameters, root)) subject = Subject{std::move(*rows), {}};
        if (!subject) continue;
        found.insert({key, std::move(*subject)});
      }
      std::optional<MemoryCost>& memory = found[key].memory;
      const auto* longest = entryOf(point.estimates, kMemory);
      const auto* usual = entryOf(median, point.id);
      if (!longest || !usual) continue;
      if (!memory || *longest > memory->longest) memory = {labelOf(one.plan, point), *longest, *usual};
    }
  if (found.empty()) return failure("{}: no point of it reads rows or images from files", options.file);
  std::vector<Subject> subjects;
  for (auto& [key, subject] : found) subjects.push_back(std::move(subject));
  return subjects;
}

// ---- a set that is named

/// Guesses template and pairs by the columns of the first row. An unreadable row is left to the inspection.
Error guessTemplate(text::DatasetOptions& options) {
  auto reader = TRY(text::RowReader::open(options.path));
  Object row;
  TRY(reader->next(row));
  const bool pairs = row.get("chosen") && row.get("rejected");
  options.pairs |= pairs;
  const std::pair<const char*, text::Template> columns[] = {{"tools", text::Template::Chat},
                                                            {"messages", text::Template::Plain},
                                                            {"instruction", text::Template::Instruct},
                                                            {"dialogue", text::Template::Summarize},
                                                            {"input", text::Template::Grammar}};
  for (const auto& [column, kind] : columns)
    if (row.get(column)) return options.kind = kind, Error::success();
  if (pairs) return options.kind = text::Template::Plain, Error::success();
  std::vector<std::string> names;
  for (const auto& [name, value] : row) names.push_back(name.str());
  std::ranges::sort(names);
  names.resize(std::min<size_t>(names.size(), 12));
  return failure("{}: no template reads its columns ({}); name one with --template, or rename the columns",
                 options.path, base::joined(names));
}

/// Returns the set at a path: rows if it is a file of rows or `--template` says so, else images.
Expected<Subject> subjectAt(const InspectOptions& options) {
  const std::string ending = llvm::sys::path::extension(options.study.file).lower();
  const bool rows_file = ending == ".json" || ending == ".jsonl" || ending == ".csv";
  if (!rows_file && options.shape.empty()) {
    if (!options.tokenizer.empty() || !options.validation.empty() || options.pairs || options.max_length > 0)
      return failure(
          "{}: images have no tokens; name a .json, .jsonl or .csv file, or the --template of a folder of rows",
          options.study.file);
    auto source = TRY(dataset::recognise(options.study.file));
    return Subject{std::move(source), std::nullopt};
  }
  dataset::RowsSource source;
  source.rows.data = {.path = options.study.file, .pairs = options.pairs};
  source.rows.tokenizer = options.tokenizer;
  source.rows.max_length = options.max_length;
  source.validation = options.validation;
  if (options.shape.empty()) {
    TRY(guessTemplate(source.rows.data));
  } else {
    source.rows.data.kind = *text::templateNamed(options.shape);  // checked by the command line
  }
  return Subject{std::move(source), std::nullopt};
}

// ---- what is printed

/// Places that a line of text names; JSON has up to so many more.
constexpr size_t kShown = 5, kShownJson = 1000;

/// Returns "rows 3, 9, 12 and 4 more", or the files of images in the same way; "" for a problem of the whole set.
std::string placesOf(const dataset::Problem& problem) {
  std::vector<std::string> places = problem.images;
  for (const int64_t row : problem.rows) places.push_back(std::to_string(row));
  const size_t all = places.size();
  places.resize(std::min(kShown, all));
  const std::string rows = problem.rows.empty() ? "" : all == 1 ? "row " : "rows ";
  return rows + base::joined(places) + (all > kShown ? fmt::format(" and {} more", all - kShown) : "");
}

std::string problemLines(const std::vector<dataset::Problem>& problems) {
  if (problems.empty()) return "  no problem found\n";
  std::string text = fmt::format("  {}, worst first\n", base::counted(problems.size(), "problem"));
  for (const dataset::Problem& problem : problems) {
    std::vector<std::string> parts;
    for (std::string part : {problem.file, placesOf(problem)})
      if (!part.empty()) parts.push_back(std::move(part));
    parts.push_back(problem.text);
    // Names of files and texts of rows come from strangers.
    text += base::printable(fmt::format("    {}: {}", toString(problem.severity), base::joined(parts, ": "))) + "\n";
  }
  return text;
}

/// Draws one line for each bin, with bars of up to `width` columns.
std::string picture(const std::vector<dataset::LengthBin>& bins, size_t width) {
  int64_t most = 1;
  for (const auto& bin : bins) most = std::max(most, bin.rows);
  const size_t digits = bins.empty() ? 1 : std::to_string(bins.back().last).size();
  std::string text;
  for (const auto& bin : bins) {
    const auto length = size_t((double(bin.rows) / double(most)) * double(width));
    std::string bar = bin.rows > 0 && length == 0 ? "▏" : "";
    for (size_t i = 0; i < length; ++i) bar += "█";
    text += fmt::format("    {:>{}}-{:<{}} {}{}{}\n", bin.first, digits, bin.last, digits, bar, bar.empty() ? "" : " ",
                        bin.rows);
  }
  return text;
}

/// Returns a share in per cent, "47 %".
std::string percent(int64_t part, int64_t whole) {
  return fmt::format("{:.0f} %", whole == 0 ? 0 : 100.0 * double(part) / double(whole));
}

std::string rowsText(const dataset::RowsReport& report, const dataset::RowsSource& source,
                     const std::optional<MemoryCost>& memory) {
  std::string text =
      base::printable(fmt::format("{}: {} of template {}, tokens of {}", report.origin,
                                  base::counted(report.lengths.size(), source.rows.data.pairs ? "pair" : "row"),
                                  nameOf(source.rows.data.kind), report.tokenizer)) +
      "\n";
  if (!source.validation.empty())
    text += base::printable(fmt::format("  held out  {} rows of {}", report.held_out, report.validation)) + "\n";
  if (!source.questions.empty())
    text += base::printable(fmt::format("  asked     {} questions of {}", report.asked, report.questions)) + "\n";
  if (!report.lengths.empty()) {
    const size_t longest = report.longest();
    text += fmt::format("  tokens    {}, of which {} ({}) are learnt\n", report.tokens, report.learnt,
                        percent(report.learnt, report.tokens));
    if (const auto [least, most] = report.weights; report.weighted > 0)
      text += fmt::format("  weights   {} in {}; all others weigh 1\n",
                          least == most ? fmt::format("{:g}", least) : fmt::format("{:g} to {:g}", least, most),
                          base::counted(report.weighted, "row"));
    for (const auto& [role, share] : report.roles)
      text += fmt::format("  {:9} {} tokens in {}\n", nameOf(role), share.tokens,
                          base::counted(uint64_t(share.messages), "message"));
    text +=
        fmt::format("  length    {} to {} tokens, median {}; the longest is row {}\n", std::ranges::min(report.lengths),
                    report.lengths[longest], dataset::medianOf(report.lengths), report.numbers[longest]);
    constexpr size_t kBar = 40;
    text += picture(dataset::binsOf(report.lengths), kBar);
  }
  if (memory)
    text += fmt::format("  memory    {} on each device with the longest row, {} if all rows had the median length{}\n",
                        base::formatQuantity(memory->longest, "B"), base::formatQuantity(memory->median, "B"),
                        base::framed(" (", base::printable(memory->point), ")"));
  return text + problemLines(report.problems);
}

std::string imagesText(const dataset::ImagesReport& report, const data::Source& source) {
  std::string text = fmt::format("{}: {}\n", base::printable(source.path), dataset::toString(source.kind));
  if (report.info) {
    text += imagesSummary(source.path, *report.info);
    if (!report.pixels.empty()) text += fmt::format("  median    {} pixels\n", dataset::medianOf(report.pixels));
    text += fmt::format("  classes   {}\n", report.info->classes.size()) + classLines(*report.info);
  }
  return text + problemLines(report.problems);
}

Array problemsJson(const std::vector<dataset::Problem>& problems) {
  Array all;
  for (const dataset::Problem& problem : problems) {
    Object one{{"severity", toString(problem.severity)},
               {"text", jsonText(problem.text)},
               {"count", std::max<size_t>(1, problem.rows.size() + problem.images.size())}};
    if (!problem.file.empty()) one["file"] = jsonText(problem.file);
    Array places;
    for (const int64_t row : problem.rows)
      if (places.size() < kShownJson) places.push_back(row);
    for (const std::string& image : problem.images)
      if (places.size() < kShownJson) places.push_back(jsonText(image));
    if (!places.empty()) one[problem.rows.empty() ? "images" : "rows"] = std::move(places);
    all.push_back(std::move(one));
  }
  return all;
}

Object rowsJson(const dataset::RowsReport& report, const dataset::RowsSource& source,
                const std::optional<MemoryCost>& memory) {
  Object out{{"kind", "rows"},
             {"path", jsonText(report.origin)},
             {"template", nameOf(source.rows.data.kind)},
             {"tokenizer", jsonText(report.tokenizer)},
             {"pairs", report.pairs},
             {"rows", report.lengths.size()},
             {"tokens", report.tokens},
             {"learnt", report.learnt},
             {"problems", problemsJson(report.problems)}};
  if (!source.validation.empty())
    out["validation"] = Object{{"path", jsonText(report.validation)}, {"rows", report.held_out}};
  if (!source.questions.empty())
    out["questions"] = Object{{"path", jsonText(report.questions)}, {"rows", report.asked}};
  if (report.weighted > 0)
    out["weights"] = Object{{"rows", report.weighted}, {"least", report.weights.least}, {"most", report.weights.most}};
  Object roles;
  for (const auto& [role, share] : report.roles)
    roles[nameOf(role)] = Object{{"messages", share.messages}, {"tokens", share.tokens}};
  out["roles"] = std::move(roles);
  if (!report.lengths.empty()) {
    Array bins;
    for (const auto& bin : dataset::binsOf(report.lengths))
      bins.push_back(Object{{"first", bin.first}, {"last", bin.last}, {"rows", bin.rows}});
    const size_t longest = report.longest();
    out["lengths"] = Object{{"shortest", std::ranges::min(report.lengths)},
                            {"median", dataset::medianOf(report.lengths)},
                            {"longest", report.lengths[longest]},
                            {"longest_row", report.numbers[longest]},
                            {"bins", std::move(bins)}};
  }
  if (memory)
    out["memory"] = Object{{"point", jsonText(memory->point)},
                           {"longest_row_bytes", memory->longest},
                           {"median_row_bytes", memory->median}};
  return out;
}

Object imagesJson(const dataset::ImagesReport& report, const data::Source& source) {
  Object out{{"kind", dataset::toString(source.kind)},
             {"path", jsonText(source.path)},
             {"turned", report.turned},
             {"problems", problemsJson(report.problems)}};
  if (!report.info) return out;
  out["train"] = report.info->train;
  out["test"] = report.info->test;
  Array classes;
  for (const auto& entry : report.info->classes)
    classes.push_back(Object{{"name", jsonText(entry.name)}, {"train", entry.train}, {"test", entry.test}});
  out["classes"] = std::move(classes);
  if (!report.pixels.empty())
    out["pixels"] = Object{{"smallest", std::ranges::min(report.pixels)},
                           {"median", dataset::medianOf(report.pixels)},
                           {"largest", std::ranges::max(report.pixels)}};
  return out;
}

bool failed(const std::vector<dataset::Problem>& problems) {
  return !problems.empty() && problems.front().severity == dataset::Severity::Error;
}

}  // namespace

Exit inspectData(const InspectOptions& options, const Console& console) {
  const bool study = StringRef(options.study.file).ends_with(".exp");
  const bool of_rows = !options.shape.empty() || !options.tokenizer.empty() || !options.validation.empty() ||
                       options.pairs || options.max_length > 0;
  if (study && of_rows)
    return usage(
        "a study says how its rows are read: leave out --template, --tokenizer, --validation, "
        "--max-length and --pairs, or use -D");
  if (!study && (options.study.study || !options.study.plain()))
    return usage("--study, --preset and -D are for a study (.exp), not for {}", options.study.file);
  std::vector<Subject> subjects;
  if (study) {
    subjects = TRY(subjectsOf(options.study, console));
  } else {
    auto subject = TRY(subjectAt(options));
    subjects.push_back(std::move(subject));
  }
  Work work("inspecting");
  return work.run([&]() -> Exit {
    std::string text;
    Array sets;
    int code = kSuccess;
    for (const Subject& subject : subjects) {
      if (!text.empty()) text += "\n";
      if (const auto* rows = std::get_if<dataset::RowsSource>(&subject.source)) {
        auto report = TRY(dataset::inspectRows(*rows, base::allCores(), work.tick()));
        if (failed(report.problems)) code = kError;
        text += rowsText(report, *rows, subject.memory);
        sets.push_back(rowsJson(report, *rows, subject.memory));
      } else {
        const auto& images = std::get<data::Source>(subject.source);
        auto report = TRY(dataset::inspectImages(images, base::allCores(), work.tick()));
        if (failed(report.problems)) code = kError;
        text += imagesText(report, images);
        sets.push_back(imagesJson(report, images));
      }
    }
    if (options.format == Format::Text) return console.finish(text, code);
    Object out{{"schema", "expc.data.inspect/1"}, {"sets", std::move(sets)}};
    return console.finish(base::prettyJson(json::Value(std::move(out))) + "\n", code);
  });
}

}  // namespace expc::cli
