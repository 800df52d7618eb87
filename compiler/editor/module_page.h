#pragma once

// The documentation page of a module, as `expc doc` shows it in a terminal, as docs/stdlib has it in Markdown, and in
// parts as the editor's hovers. modulePage() collects from the syntax tree what the module declares; the render
// functions only lay it out.
//
// Declarations are quoted from the source instead of being printed from the tree, so that a page shows them as their
// author wrote them. A page therefore exists for modules that do not pass the checker.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/source.h"
#include "compiler/editor/explain.h"
#include "compiler/parse/ast.h"

namespace expc::editor {

/// A column of a table.
struct Column {
  std::string_view head;
  std::string_view lead = {};     // written before its values where a declaration is shown on one line: " in "
  bool code = true;               // whether its values are quoted from the module; tables show them as code
  std::string_view missing = {};  // shown in a table in place of an empty value
};

/// One declared thing: its name and the values of its columns, and its comment.
struct Row {
  std::vector<std::string> cells;  // by column, the name first
  std::string doc;
  std::string before, after;  // the text around the name where the declaration is shown on one line
  std::string because;        // the reason of a rule
};

/// Declarations of one kind.
struct Table {
  std::string_view title;
  std::span<const Column> columns;  // static data; the column of comments is not among them
  std::vector<Row> rows;
};

/// A workload, a system or a study with its parts. With an empty `kind` it holds all enums, units, values, … of a
/// module.
struct Section {
  std::string_view kind;
  std::string prefix, name;  // "image." and "mobilenet_v2"
  std::string doc;
  int version = 0;      // of a workload; else 0
  std::string command;  // the program's arguments; "" for a built-in workload
  std::vector<Table> tables;
};

/// Everything in a file that another file can use, and its studies.
struct ModulePage {
  std::string title;    // "std.image", "shared/jobs.exp"
  std::string doc;      // the `//` comment at the beginning of the file
  std::string summary;  // the first sentence of `doc`, else the module's declarations: "workload mobilenet_v2"
  std::vector<std::string> workloads;
  std::vector<Section> sections;
};

/// The page of a module. `prefix` is written before names where the module is imported: "image."
ModulePage modulePage(const source::SourceManager& sources, const ast::Module& module, std::string title,
                      std::string prefix);

/// The table of a single declaration, with one row, for hovers.
Table tableOf(const source::SourceManager& sources, const ast::ParamDecl& param);
Table tableOf(const source::SourceManager& sources, const ast::MetricDecl& metric);

/// Reduces a page to one of its workloads and the enums that its parameters use.
void keepWorkload(ModulePage& page, std::string_view name);

/// The page for a terminal: each declaration on a line, its comment wrapped below it.
std::string renderText(const ModulePage& page, const editor::TextStyle& style);

/// The page in Markdown, with parameters and metrics in tables.
std::string renderMarkdown(const ModulePage& page);

}  // namespace expc::editor
