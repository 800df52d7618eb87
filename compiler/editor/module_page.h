#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/editor/explain.h"
#include "compiler/source/source.h"

namespace expc::editor {

/// A column of a table.
struct Column {
  std::string_view head;
  std::string_view lead = {};     // what stands before its values where a thing is written on one line: " in "
  bool code = true;               // its values are quoted from the module
  std::string_view missing = {};  // what a table says where there is no value
};

/// One thing that is declared: `size`, ` : Pixels in 16px..1024px = 224px`, and what its comment says.
struct Row {
  std::vector<std::string> cells;  // by column, the name first
  std::string doc;
  std::string before, after;  // what stands around its name where it is written on one line
  std::string because;        // of rules
};

struct Table {
  std::string_view title;
  std::span<const Column> columns;  // the last one, of comments, is not among them
  std::vector<Row> rows;
};

/// A workload, a system or a study with its parts; or all enums, values, … of a module, which have no kind.
struct Section {
  std::string_view kind;
  std::string prefix, name;  // `image.` and `mobilenet_v2`
  std::string doc;
  int version = 0;      // of workloads
  std::string command;  // its arguments, "" for a built-in one
  std::vector<Table> tables;
};

/// Everything of one file that another one can use, and its studies.
struct ModulePage {
  std::string title;    // "std.image", "shared/jobs.exp"
  std::string doc;      // the `//` comment that the file begins with
  std::string summary;  // its first sentence, else what the module declares: "workload mobilenet_v2"
  std::vector<std::string> workloads;
  std::vector<Section> sections;
};

/// `prefix` is what stands before a name where the module is imported: "image."
ModulePage modulePage(const source::SourceManager& sources, const ast::Module& module, std::string title,
                      std::string prefix);

/// What a page says of one declaration: a table of one row.
Table tableOf(const source::SourceManager& sources, const ast::ParamDecl& param);
Table tableOf(const source::SourceManager& sources, const ast::MetricDecl& metric);

/// Leaves one of the page's workloads and the enums that its parameters use.
void keepWorkload(ModulePage& page, std::string_view name);

/// For a terminal: each thing as it is declared, its comment wrapped below it.
std::string renderText(const ModulePage& page, const editor::TextStyle& style);

/// For docs/stdlib: parameters and metrics in tables.
std::string renderMarkdown(const ModulePage& page);

}  // namespace expc::editor
