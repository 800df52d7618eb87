#include "runtime/export/parquet.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/export/csv.h"
#include "runtime/export/json.h"
#include "runtime/files/files.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/python.h"
#include "runtime/report/records_json.h"

namespace expc::exports {
namespace {

constexpr report::Package kWriter{"pyarrow", "parquet", "--format csv does without"};
constexpr report::Package kReader{"pyarrow", "parquet", "JSON lines and CSV do without"};
constexpr unsigned kReadSeconds = 24 * 60 * 60;  // a download may have hundreds of millions of rows

/// What assets/write_parquet.py reads: the columns in one line, then CSV.
class DescribedCsv : public CsvSink {
 public:
  explicit DescribedCsv(llvm::raw_ostream& out) : CsvSink(out), out_(out) {}
  void begin(std::string_view table, const std::vector<Column>& columns) override {
    const std::string_view schema = kSchema;
    llvm::json::Object about = EXPC_FIELDS(schema, table);
    about["columns"] = described(columns);
    out_ << plan::canonicalJson(std::move(about)) << '\n';
    CsvSink::begin(table, columns);
  }

 private:
  llvm::raw_ostream& out_;
};

}  // namespace

llvm::Error writeParquet(const std::string& path, const std::function<void(Sink&)>& write) {
  std::string way_out = "; name another file with --to FILE";
  llvm::Error error = files::writeBy(path, [&](const std::string& temporary) -> llvm::Error {
    const auto feed = [&](llvm::raw_ostream& in) {
      DescribedCsv sink(in);
      write(sink);
    };
    llvm::Error failed = report::runPython(report::assets::parquetScript(), {temporary}, feed, kWriter);
    if (!failed) return failed;
    const std::string why = llvm::toString(std::move(failed));
    if (why == report::lackingText(kWriter)) way_out = "";
    return llvm::createStringError(fmt::format("{}: {}", path, why));
  });
  if (!error) return error;
  return llvm::createStringError(fmt::format("cannot write {}{}", llvm::toString(std::move(error)), way_out));
}

llvm::Error parquetTexts(const std::string& path, const std::string& lines, int64_t most) {
  llvm::Error failed = report::runPython(
      report::assets::parquetTextsScript(), {path, lines, std::to_string(most)}, [](llvm::raw_ostream&) {}, kReader,
      kReadSeconds);
  return failed ? base::failure("{}: {}", path, llvm::toString(std::move(failed))) : llvm::Error::success();
}

}  // namespace expc::exports
