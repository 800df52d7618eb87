#pragma once

#include <llvm/Support/raw_ostream.h>

#include "runtime/export/table.h"

namespace expc::exports {

/// CSV by RFC 4180 with a line of names, in UTF-8, lines ended by LF. No value is an empty field, an empty text is "".
/// Numbers are the shortest that read back to the same value; `inf`, `-inf` and `nan` where they are none.
class CsvSink : public Sink {
 public:
  explicit CsvSink(llvm::raw_ostream& out) : out_(out) {}
  void begin(std::string_view table, const std::vector<Column>& columns) override;
  void row(Row cells) override;
  void end() override {}

 private:
  llvm::raw_ostream& out_;
};

}  // namespace expc::exports
