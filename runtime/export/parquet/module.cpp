#include "runtime/export/parquet/module.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <utility>
#include <vector>

namespace expc::exports {
namespace {

/// Rows that are held before they are written.
constexpr int64_t kGroup = 1 << 16;

std::shared_ptr<arrow::DataType> typeOf(Type type) {
  switch (type) {
    case Type::Text:
      return arrow::utf8();
    case Type::Integer:
      return arrow::int64();
    case Type::Real:
      return arrow::float64();
    case Type::Truth:
      return arrow::boolean();
    case Type::Time:
      return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
  }
  return arrow::utf8();
}

/// Appends a cell to its column's builder, which is of the column's type.
struct Append {
  arrow::ArrayBuilder& builder;

  template <typename Builder>
  Builder& as() const {
    return static_cast<Builder&>(builder);
  }
  arrow::Status operator()(std::monostate) const { return builder.AppendNull(); }
  arrow::Status operator()(std::string_view text) const { return as<arrow::StringBuilder>().Append(text); }
  arrow::Status operator()(int64_t value) const { return as<arrow::Int64Builder>().Append(value); }
  arrow::Status operator()(double value) const { return as<arrow::DoubleBuilder>().Append(value); }
  arrow::Status operator()(bool value) const { return as<arrow::BooleanBuilder>().Append(value); }
  arrow::Status operator()(UnixTime value) const { return as<arrow::TimestampBuilder>().Append(microseconds(value)); }
};

class ParquetSink : public FileSink {
 public:
  explicit ParquetSink(std::string path) : path_(std::move(path)) {}

  void begin(std::string_view table, const std::vector<Column>& columns) override { status_ = open(table, columns); }
  void row(Row cells) override {
    if (!status_.ok()) return;
    for (size_t i = 0; i < cells.size(); ++i) note(std::visit(Append{*builders_[i]}, cells[i]));
    if (++rows_ == kGroup) note(flush());
  }
  void end() override {
    if (status_.ok() && rows_ > 0) note(flush());
    if (writer_) note(writer_->Close());
    if (file_) note(file_->Close());
  }
  std::string problem() const override { return status_.ok() ? "" : status_.message(); }

 private:
  void note(const arrow::Status& status) {
    if (status_.ok()) status_ = status;
  }

  arrow::Status open(std::string_view table, const std::vector<Column>& columns) {
    arrow::FieldVector fields;
    for (const Column& column : columns)
      fields.push_back(
          arrow::field(column.name, typeOf(column.type), true, arrow::key_value_metadata({"what"}, {column.what})));
    schema_ = arrow::schema(fields,
                            arrow::key_value_metadata({"schema", "table"}, {std::string(kSchema), std::string(table)}));
    for (const auto& field : schema_->fields()) {
      ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(field->type()));
      builders_.push_back(std::move(builder));
    }
    ARROW_ASSIGN_OR_RAISE(file_, arrow::io::FileOutputStream::Open(path_));
    auto properties = parquet::WriterProperties::Builder().compression(arrow::Compression::ZSTD)->build();
    auto with_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    ARROW_ASSIGN_OR_RAISE(writer_, parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), file_,
                                                                    properties, with_schema));
    return arrow::Status::OK();
  }

  arrow::Status flush() {
    arrow::ArrayVector arrays;
    for (const auto& builder : builders_) {
      ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
      arrays.push_back(std::move(array));
    }
    const auto batch = arrow::RecordBatch::Make(schema_, rows_, std::move(arrays));
    rows_ = 0;
    return writer_->WriteRecordBatch(*batch);
  }

  const std::string path_;
  arrow::Status status_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  int64_t rows_ = 0;
};

class ParquetRows : public TextRows {
 public:
  explicit ParquetRows(const std::string& path) : status_(open(path)) {}

  bool next(std::vector<std::pair<std::string, std::string>>& row) override {
    row.clear();
    while (status_.ok() && (!batch_ || at_ == batch_->num_rows())) {
      at_ = 0;
      status_ = batches_->ReadNext(&batch_);
      if (!batch_) return false;
    }
    if (!status_.ok()) return false;
    for (int i = 0; i < batch_->num_columns(); ++i) {
      const auto cell = batch_->column(i)->GetScalar(at_).ValueOr(nullptr);
      if (cell && cell->is_valid && arrow::is_string(cell->type->id()))
        row.emplace_back(batch_->column_name(i), cell->ToString());
    }
    ++at_;
    return true;
  }
  std::string problem() const override { return status_.ok() ? "" : status_.message(); }

 private:
  arrow::Status open(const std::string& path) {
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
    ARROW_ASSIGN_OR_RAISE(reader_, parquet::arrow::OpenFile(std::move(file), arrow::default_memory_pool()));
    return reader_->GetRecordBatchReader().Value(&batches_);
  }

  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t at_ = 0;
  arrow::Status status_;
};

}  // namespace
}  // namespace expc::exports

extern "C" __attribute__((visibility("default"))) const expc::exports::ParquetModule expcParquet = {
    [](const std::string& path) -> std::unique_ptr<expc::exports::FileSink> {
      return std::make_unique<expc::exports::ParquetSink>(path);
    },
    [](const std::string& path) -> std::unique_ptr<expc::exports::TextRows> {
      return std::make_unique<expc::exports::ParquetRows>(path);
    }};
