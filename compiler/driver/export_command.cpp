#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

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

llvm::Error writeInto(int file, const std::string& name, const ExportOptions& options,
                      const std::vector<exports::Source>& sources) {
  llvm::raw_fd_ostream out(file, /*shouldClose=*/false);
  write(options, sources, out);
  out.flush();
  const std::error_code failed = out.error();
  out.clear_error();  // LLVM ends a program that leaves one
  // Who reads by `head` has seen enough.
  return failed && failed != std::errc::broken_pipe ? files::systemError(name, failed.value()) : llvm::Error::success();
}

llvm::Error writeText(const ExportOptions& options, const std::vector<exports::Source>& sources) {
  if (options.to == "-") return writeInto(STDOUT_FILENO, "standard output", options, sources);
  return files::writeBy(options.to, [&](const std::string& temporary) -> llvm::Error {
    int file = -1;
    if (const auto failed = llvm::sys::fs::openFileForWrite(temporary, file))
      return files::systemError(options.to, failed.value());
    llvm::Error error = writeInto(file, options.to, options, sources);
    llvm::sys::fs::closeFile(file);
    return error;
  });
}

llvm::Error writeAll(const ExportOptions& options, const std::vector<exports::Source>& sources) {
  if (options.format == ExportFormat::Parquet)
    return exports::writeParquet(options.to, [&](exports::Sink& sink) { writeTable(options, sources, sink); });
  llvm::Error error = writeText(options, sources);
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
  for (ChosenPlan& one : *plans) {
    auto source = sourceOf(std::move(one.plan), *store, !options.machine.null_gpus.empty());
    if (!source) return console.error(source.takeError());
    sources.push_back(std::move(*source));
  }
  if (llvm::Error error = writeAll(options, sources)) return console.error(std::move(error));
  return kSuccess;
}

}  // namespace expc::driver
