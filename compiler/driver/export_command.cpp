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
#include "runtime/export/tables.h"
#include "runtime/store/history.h"
#include "runtime/store/store.h"

namespace expc::driver {
namespace {

llvm::Expected<exports::Source> sourceOf(plan::Plan plan, store::Store& store, bool null_cards) {
  exports::Source source{std::move(plan), {}, {}, {}};
  auto results = null_cards ? store.loadLatest(source.plan, true) : store.load(source.plan);
  if (!results) return results.takeError();
  source.results = std::move(*results);
  source.judgement = analysis::judge(source.plan, source.results);
  auto history = store::history(store, source.plan);
  if (!history) return history.takeError();
  source.history = std::move(*history);
  return source;
}

void write(const ExportOptions& options, const std::vector<exports::Source>& sources, llvm::raw_ostream& out) {
  switch (options.format) {
    case ExportFormat::Csv: {
      exports::CsvSink sink(out);
      options.series ? writeSeries(sources, sink) : writeMeasurements(sources, sink);
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
  }
}

}  // namespace

int exportResults(const ExportOptions& options, const Console& console) {
  if (options.series && options.format != ExportFormat::Csv)
    return console.usage("--table series goes with --format csv; json holds both tables");
  auto plans = loadPlans(options.study, options.machine, std::nullopt, console);
  if (!plans) return kError;
  std::vector<std::string> messages;
  llvm::Expected<store::Store> store = store::Store::openForReading(options.results, messages);
  if (!store) return console.error(store.takeError());
  for (const std::string& message : messages) console.message(message);

  std::vector<exports::Source> sources;
  for (ChosenPlan& one : *plans) {
    auto source = sourceOf(std::move(one.plan), *store, !options.machine.null_gpus.empty());
    if (!source) return console.error(source.takeError());
    sources.push_back(std::move(*source));
  }
  llvm::Error error = llvm::writeToOutput(options.to, [&](llvm::raw_ostream& out) {
    write(options, sources, out);
    return llvm::Error::success();
  });
  if (!error) return kSuccess;
  return console.error(fmt::format("{} cannot be written: {}; name another file with --to FILE", options.to,
                                   llvm::toString(std::move(error))));
}

}  // namespace expc::driver
