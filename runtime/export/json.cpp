#include "runtime/export/json.h"

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/export/tables.h"
#include "runtime/plan/json.h"
#include "runtime/report/records_json.h"
#include "runtime/report/result_json.h"

namespace expc::exports {
namespace {

struct JsonValue {
  llvm::json::OStream& out;
  llvm::StringRef name;
  void operator()(std::monostate) const {}
  void operator()(std::string_view text) const { out.attribute(name, plan::jsonText(text)); }
  void operator()(int64_t value) const { out.attribute(name, value); }
  void operator()(double value) const { out.attribute(name, report::json(value)); }
  void operator()(bool value) const { out.attribute(name, value); }
  void operator()(UnixTime value) const { out.attribute(name, timeText(value)); }
};

/// An array of objects, a line each.
class JsonSink : public Sink {
 public:
  explicit JsonSink(llvm::raw_ostream& out) : out_(out) {}

  void begin(std::string_view table, const std::vector<Column>& columns) override {
    names_.clear();
    for (const Column& column : columns) names_.push_back(column.name);
    out_ << "\"" << table << "\": [";
    first_ = true;
  }
  void row(Row cells) override {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    llvm::json::OStream object(out_);
    object.object([&] {
      for (size_t i = 0; i < cells.size(); ++i) std::visit(JsonValue{object, names_[i]}, cells[i]);
    });
  }
  void end() override { out_ << "]"; }

 private:
  llvm::raw_ostream& out_;
  std::vector<std::string> names_;
  bool first_ = true;
};

}  // namespace

llvm::json::Array described(const std::vector<Column>& columns) {
  llvm::json::Array array;
  for (const Column& column : columns) array.push_back(EXPC_FIELDS(column.name, column.type, column.what));
  return array;
}

void writeJson(std::span<const Source> sources, llvm::raw_ostream& out) {
  const llvm::json::Value columns =
      llvm::json::Object{{std::string(kMeasurements), described(measurementColumns(sources))},
                         {std::string(kSeries), described(seriesColumns(sources))}};
  out << "{\"schema\": \"" << kSchema << "\",\n\"columns\": " << plan::canonicalJson(columns) << ",\n";
  JsonSink sink(out);
  writeMeasurements(sources, sink);
  out << ",\n";
  writeSeries(sources, sink);
  out << ",\n\"reports\": [";
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    out << (i > 0 ? ",\n" : "\n")
        << plan::canonicalJson(report::resultJson(source.plan, source.judgement, source.results));
  }
  out << "]}\n";
}

}  // namespace expc::exports
