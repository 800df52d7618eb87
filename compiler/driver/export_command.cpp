#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "runtime/analysis/judgement.h"
#include "runtime/export/csv.h"
#include "runtime/export/json.h"
#include "runtime/export/junit.h"
#include "runtime/export/markdown.h"
#include "runtime/export/parquet.h"
#include "runtime/export/tables.h"
#include "runtime/files/files.h"
#include "runtime/store/history.h"
#include "runtime/store/store.h"

namespace expc::driver {
namespace {

exports::Source sourceOf(plan::Plan plan, const store::Store& store, bool null_cards) {
  exports::Source source{std::move(plan), {}, {}, {}};
  source.results = null_cards ? store.loadLatest(source.plan, true) : store.load(source.plan);
  source.judgement = analysis::judge(source.plan, source.results);
  source.history = store::history(store, source.plan);
  return source;
}

void writeTable(const ExportOptions& options, const std::vector<exports::Source>& sources, exports::Sink& sink) {
  options.series ? writeSeries(sources, sink) : writeMeasurements(sources, sink);
}

void write(const ExportOptions& options, const std::vector<exports::Source>& sources, llvm::raw_ostream& out) {
  switch (options.format) {
    case ExportFormat::Csv: {
      exports::CsvSink sink(out);
      writeTable(options, sources, sink);
      break;
    }
    case ExportFormat::Json:
      writeJson(sources, out);
      break;
    case ExportFormat::Junit:
      out << exports::junit(sources);
      break;
    case ExportFormat::Markdown:
      out << exports::markdown(sources);
      break;
    case ExportFormat::Parquet:
      break;  // no stream
  }
}

llvm::Error writeFile(const ExportOptions& options, const std::vector<exports::Source>& sources, llvm::StringRef text) {
  if (options.format == ExportFormat::Parquet)
    return exports::writeParquet(options.to, [&](exports::Sink& sink) { writeTable(options, sources, sink); });
  llvm::Error error = files::write(options.to, text);
  if (!error) return error;
  return llvm::createStringError(
      fmt::format("cannot write {}; name another file with --to FILE", llvm::toString(std::move(error))));
}

/// "" or what in these options does not go together.
std::string contradiction(const ExportOptions& options) {
  const bool table = options.format == ExportFormat::Csv || options.format == ExportFormat::Parquet;
  if (options.series && !table) return "--table series goes with --format csv and parquet; json holds both tables";
  if (options.format == ExportFormat::Parquet && options.to == "-")
    return "--format parquet is for a file; name it with --to FILE";
  return "";
}

}  // namespace

int exportResults(const ExportOptions& options, const Console& console) {
  if (const std::string wrong = contradiction(options); !wrong.empty()) return console.usage(wrong);
  auto plans = loadMeasured(options.study, options.machine, options.results, console);
  if (!plans) return plans.code;
  std::vector<std::string> messages;
  llvm::Expected<store::Store> store = store::Store::openForReading(options.results, messages);
  if (!store) return console.error(store.takeError());
  for (const std::string& message : messages) console.message(message);

  std::vector<exports::Source> sources;
  for (ChosenPlan& one : *plans)
    sources.push_back(sourceOf(std::move(one.plan), *store, !options.machine.null_gpus.empty()));
  std::string text;
  llvm::raw_string_ostream out(text);
  write(options, sources, out);
  if (options.to == "-") return console.printRaw(text) ? kSuccess : kError;
  if (auto error = writeFile(options, sources, text)) return console.error(std::move(error));
  return kSuccess;
}

}  // namespace expc::driver
