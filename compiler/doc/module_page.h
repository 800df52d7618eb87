#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/source/source.h"

namespace expc::doc {

/// One thing that is declared: `size`, `: Pixels in 16px..1024px = 224px`, and what its comment says.
struct Entry {
  std::string name;
  std::string type;       // of parameters and metrics: "Pixels", "Images / Time"; of lets: the value
  std::string range;      // "16px..1024px"
  std::string fallback;   // the default, "" where it must be given; of derived metrics what they are
  std::string source;     // of a command's metrics: "regex(…)"
  std::string when;       // "method == lora"
  std::string direction;  // of metrics: "lower", "higher"
  std::string kind;       // of metrics: "timed", "quality", "profile"; with "exact", "series"
  std::string doc;

  /// As it is declared, on one line, without its name.
  std::string signature() const;
};

struct EnumPage {
  std::string name, doc;
  bool ordered = false;
  std::vector<std::string> levels;  // "mnist(path)"
};

struct RulePage {
  std::string name, doc, condition, because;
  bool exclude = false;
};

struct WorkloadPage {
  std::string name, doc;
  int version = 1;
  std::string command;  // its arguments, "" for a built-in one
  std::vector<Entry> parameters, metrics, lets, estimates;
  std::vector<RulePage> rules;
};

struct SystemPage {
  std::string name, doc;
  std::vector<Entry> properties;  // name and type (the value)
};

struct StudyPage {
  std::string name, doc;
  std::vector<Entry> factors;  // name and range (the levels)
};

/// Everything of one file that another one can use, and its studies.
struct ModulePage {
  std::string title;   // "std.image", "shared/jobs.exp"
  std::string prefix;  // what stands before a name where it is imported: "image."
  std::string doc;     // the `//` comment that the file begins with
  std::vector<EnumPage> enums;
  std::vector<WorkloadPage> workloads;
  std::vector<Entry> units, lets;
  std::vector<Entry> metrics;  // for workloads that take them all
  std::vector<SystemPage> systems;
  std::vector<Entry> references;
  std::vector<StudyPage> studies;

  /// The first sentence of its comment, else what it declares: "workload mobilenet_v2".
  std::string summary() const;
};

ModulePage modulePage(const source::SourceManager& sources, const ast::Module& module, std::string title,
                      std::string prefix);

/// The page with one workload and the enums that its parameters use; empty if it has no workload of that name.
bool keepWorkload(ModulePage& page, std::string_view name);

}  // namespace expc::doc
