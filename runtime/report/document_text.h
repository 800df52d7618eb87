#pragma once

// Blocks of a document as text of a terminal.

#include <string>
#include <vector>

#include "runtime/report/document.h"
#include "runtime/report/layout.h"

namespace expc::report {

/// What prints blocks between its own lines inherits it.
class DocumentText : protected TerminalText {
 protected:
  DocumentText(unsigned width, bool colour) : TerminalText(width, colour), width_(width) {}

  /// Parts and sentences have a heading where they stand by themselves, and a line inside a part.
  void show(const std::vector<Block>& blocks, unsigned indent = 0);
  void show(const Block& block, unsigned indent = 0);
  void show(const Paragraph& paragraph, unsigned indent);
  void show(const Described& described, unsigned indent = 0);
  void show(const Table& table, unsigned indent);
  void show(const Figures& figures, unsigned indent);
  void show(const Part& part, unsigned indent = 0);

  const unsigned width_;
};

/// Blocks that stand by themselves.
std::string documentText(const std::vector<Block>& blocks, unsigned width, bool colour);

}  // namespace expc::report
