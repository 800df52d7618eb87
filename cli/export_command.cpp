// `expc export`: writes stored results for other programs. The formats are runtime/export; this file checks which
// options go together, loads results of every study with its judgement and history, and writes to a file (whole or not
// at all) or to standard output.

#include <llvm/Support/raw_ostream.h>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/export/formats.h"
#include "runtime/export/table.h"
#include "runtime/judge/results.h"
#include "runtime/simulate/forecast.h"
#include "runtime/store/store.h"

namespace expc::cli {
namespace {

/// Collects everything that formats may need of one study: results that count, the judgement and the history of all
/// sessions.
exports::Source sourceOf(Plan plan, const store::Store& store, bool null_cards) {
  exports::Source source{std::move(plan), {}, {}, {}};
  source.results = null_cards ? store.loadLatest(source.plan, true) : store.load(source.plan);
  source.judgement = simulate::judge(source.plan, source.results);
  source.history = store::history(store, source.plan);
  return source;
}

/// Returns the table that CSV and Parquet write.
exports::Table tableOf(const ExportOptions& options, const std::vector<exports::Source>& sources) {
  return options.series ? exports::series(sources) : exports::measurements(sources);
}

/// Writes the chosen format; Parquet, which is written by another program, is handled in writeFile().
void write(const ExportOptions& options, const std::vector<exports::Source>& sources, llvm::raw_ostream& out) {
  if (options.format == Format::Csv) exports::writeCsv(tableOf(options, sources), out, !options.no_formulas);
  if (options.format == Format::Json) exports::writeJson(sources, out);
  if (options.format == Format::Junit) out << exports::junit(sources);
  if (options.format == Format::Markdown)
    out << exports::markdown(sources, options.max_size.value_or(exports::kMostMarkdown));
  if (options.format == Format::Bencher) out << exports::bencher(sources);
  if (options.format == Format::SmallerIsBetter) out << exports::actionBenchmark(sources, plan::Direction::Lower);
  if (options.format == Format::BiggerIsBetter) out << exports::actionBenchmark(sources, plan::Direction::Higher);
  if (options.format == Format::OpenMetrics) out << exports::openMetrics(sources);
}

/// A stream that prints in pieces that end with a line, as they come: an export may be larger than the results that it
/// is made of, and is not collected in memory. Once a write fails, the rest is dropped.
class Printed : public llvm::raw_ostream {
 public:
  explicit Printed(const Console& console) : console_(console) {}
  ~Printed() override { flush(); }
  /// Prints what is left and returns whether all of it could be printed.
  bool ended() {
    flush();
    return open_ && console_.printRaw(kept_);
  }

 private:
  void write_impl(const char* text, size_t size) override {
    written_ += size;
    const StringRef piece(text, size);
    const size_t whole = piece.rfind('\n') + 1;  // npos + 1 is 0
    kept_ += piece.take_front(whole);
    if (whole > 0) {
      open_ = open_ && console_.printRaw(kept_);
      kept_.clear();
    }
    kept_ += piece.drop_front(whole);
  }
  uint64_t current_pos() const override { return written_; }

  const Console& console_;
  std::string kept_;
  uint64_t written_ = 0;
  bool open_ = true;
};

/// Writes to the file that the options name; the error names a way out.
Error writeFile(const ExportOptions& options, const std::vector<exports::Source>& sources) {
  if (options.format == Format::Parquet) return exports::writeParquet(options.to, tableOf(options, sources));
  Error error = files::writeStream(options.to, [&](llvm::raw_ostream& out) { write(options, sources, out); });
  if (!error) return error;
  return failure("cannot write {}; name another file with --to FILE", std::move(error));
}

/// Fails if options do not go together.
Error verify(const ExportOptions& options) {
  const bool table = options.format == Format::Csv || options.format == Format::Parquet;
  if (options.series && !table)
    return usage("--table series needs --format csv or parquet (json contains both tables)");
  if (options.max_size && options.format != Format::Markdown) return usage("--max-size needs --format markdown");
  if (options.no_formulas && options.format != Format::Csv) return usage("--no-formulas needs --format csv");
  if (options.format == Format::Parquet && options.to == "-") return usage("--format parquet needs --to FILE");
  return Error::success();
}

}  // namespace

Exit exportResults(const ExportOptions& options, const Console& console) {
  TRY(verify(options));
  std::optional<store::Store> store;
  auto plans = TRY(loadMeasured(options, console, &store));

  std::vector<exports::Source> sources;
  for (ChosenPlan& one : plans)
    sources.push_back(sourceOf(std::move(one.plan), *store, !options.machine.null_gpus.empty()));
  if (options.to != "-") {
    TRY(writeFile(options, sources));
    return kSuccess;
  }
  Printed out(console);
  write(options, sources, out);
  return out.ended() ? kSuccess : kError;
}

}  // namespace expc::cli
