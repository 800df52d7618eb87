// Builds a module's page from its syntax tree and renders it. The page is a list of sections with tables of rows; one
// set of column definitions at the top serves both renderings. In Markdown a row is a line of a table; in a terminal it
// is written as the declaration stands in the source, each column after its `lead`.
//
// To show a new kind of declaration: its columns, a cells() for it, and its line in Writer::run or Writer::workload.

#include "compiler/editor/module_page.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <set>

namespace expc::editor {

namespace {

/// The comment at the beginning of a file, up to the first line that is none. Doc comments belong to declarations.
std::string openingComment(std::string_view text) {
  std::string out;
  while (text.starts_with("//") && !text.starts_with("///")) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(2, end - 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out += (out.empty() ? "" : "\n") + std::string(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The columns of each kind of declaration: head, lead, whether code, text for a missing value.
constexpr Column kParameters[] = {{"parameter"},
                                  {"type", " : "},
                                  {"range", " in "},
                                  {"default", " = ", true, "must be given"},
                                  {"active when", "  when "}};
constexpr Column kMetrics[] = {
    {"metric"},    {"type", " : "},         {"better", " ", false}, {"from trials", " ", false},
    {"is", " = "}, {"read from", "  from "}};
constexpr Column kRules[] = {{"rule"}, {"condition"}, {"because", "", false}};
constexpr Column kNames[] = {{"name"}, {"value", " = "}};
constexpr Column kUnits[] = {{"unit"}, {"value", " = "}};
constexpr Column kEstimates[] = {{"metric"}, {"value", " = "}, {"active when", "  when "}};
constexpr Column kEnums[] = {{"enum"}, {"levels", "", false}};
constexpr Column kProperties[] = {{"property"}, {"value", " = "}};
constexpr Column kReferences[] = {{"reference"}, {"value", " from "}};
constexpr Column kFactors[] = {{"factor"}, {"levels", " in "}, {"active when", "  when "}};

/// Turns declarations into rows, and rows into the sections of a page.
struct Writer {
  const source::SourceManager& sources;
  std::string prefix = "";
  std::vector<Section> sections = {};

  // Source text is squeezed onto one line: declarations may span several.
  std::string text(source::Range range) const { return source::squeeze(sources.text(range)); }
  std::string text(const ast::ExprPtr& expr) const { return expr ? text(expr->range) : ""; }

  // The values of a declaration, in the order of the columns of its kind.
  std::vector<std::string> cells(const ast::LetDecl& let) const { return {let.name.name, text(let.value)}; }
  std::vector<std::string> cells(const ast::ReferenceDecl& table) const {
    return {table.name.name, text(table.path.range)};
  }
  std::vector<std::string> cells(const ast::EstimateDecl& estimate) const {
    return {estimate.name.name, text(estimate.value), text(estimate.when)};
  }
  std::vector<std::string> cells(const ast::FactorDecl& factor) const {
    return {factor.name.name, text(factor.levels), text(factor.when)};
  }
  std::vector<std::string> cells(const ast::Assignment& property) const {
    return {text(property.target.range), text(property.value)};
  }
  std::vector<std::string> cells(const ast::ParamDecl& param) const {
    return {param.name.name, typeName(param.type), text(param.type.refinement),
            param.inside ? "inside" : text(param.value), text(param.when)};
  }
  /// A metric that stands for all of a module (`NAME.*`) has no columns; finish() says what it is.
  std::vector<std::string> cells(const ast::MetricDecl& metric) const {
    if (metric.all) return {metric.name.name + ".*", "", "", "", "", ""};
    // Metrics come from timed trials unless they say otherwise; a derived one has no trials of its own.
    std::string kind = metric.kind ? metric.kind->name : metric.derived ? "" : "timed";
    if (metric.exact) kind += kind.empty() ? "exact" : " exact";
    for (const auto& [has, word] : {std::pair(metric.series, "series"), {metric.distribution, "distribution"}})
      if (has) kind += fmt::format("{}{}", kind.empty() ? "" : " ", word);
    return {metric.name.name,
            metric.type ? text(metric.type->range) : "",
            metric.direction ? metric.direction->name : "",
            kind,
            text(metric.derived),
            text(metric.source)};
  }
  std::vector<std::string> cells(const ast::RuleDecl& rule) const {
    return {rule.name ? rule.name->name : "", word(rule) + text(rule.condition), rule.because.value_or("")};
  }
  std::vector<std::string> cells(const ast::EnumDecl& decl) const {
    std::vector<std::string> levels;
    for (const ast::EnumLevel& level : decl.levels) levels.push_back("`" + levelText(level) + "`");
    return {decl.name.name, (decl.ordered ? "in order: " : "") + llvm::join(levels, ", ")};
  }

  /// The rows of several declarations of one kind.
  template <typename Declared>
  Table table(std::string_view title, std::span<const Column> columns, std::span<const Declared> all) const {
    Table out{title, columns, {}};
    for (const Declared& declared : all) {
      Row row{cells(declared), "", "", "", ""};
      if constexpr (requires { declared.doc; }) row.doc = declared.doc;
      for (size_t at = 1; at < columns.size(); ++at)
        if (!columns[at].lead.empty() && !row.cells[at].empty())
          row.after += std::string(columns[at].lead) + row.cells[at];
      finish(row, declared);
      out.rows.push_back(std::move(row));
    }
    return out;
  }

  /// The sections of a page: workloads first, since most readers look for these.
  std::vector<Section> run(const ast::Module& module) {
    for (const ast::WorkloadDecl& decl : module.workloads) workload("workload", decl);
    for (const ast::WorkloadDecl& decl : module.services) workload("service", decl);
    all("Enums", kEnums, module.enums);
    all("Units", kUnits, module.units);
    all("Values", kNames, module.lets);
    all("Metrics", kMetrics, module.metrics);
    for (const ast::SystemDecl& decl : module.systems) system(decl);
    all("References", kReferences, module.references);
    for (const ast::PartDecl& decl : module.parts) study("part", decl);
    for (const ast::StudyDecl& decl : module.studies) study("study", decl);
    return std::move(sections);
  }

  /// Completes a row where its kind needs more than its columns.
  template <typename Declared>
  void finish(Row&, const Declared&) const {}
  void finish(Row& row, const ast::MetricDecl& metric) const {
    if (metric.all) row.doc = "All metrics of the module " + metric.name.name + ".";
  }
  void finish(Row& row, const ast::RuleDecl& rule) const {
    row.before = word(rule);
    row.after = (rule.name ? ": " : "") + text(rule.condition);
    if (rule.because) row.because = "because " + *rule.because;
  }
  void finish(Row& row, const ast::EnumDecl& decl) const {
    std::vector<std::string> levels;
    for (const ast::EnumLevel& level : decl.levels) levels.push_back(levelText(level));
    row.before = decl.ordered ? "ordered " : "";
    row.after = " { " + llvm::join(levels, ", ") + " }";
  }

  /// The head of a rule, as it is written in front of its condition.
  static std::string word(const ast::RuleDecl& rule) {
    return rule.kind == ast::RuleKind::Exclude ? "exclude " : "require ";
  }

  /// A level of an enum with its fields, as it is declared.
  std::string levelText(const ast::EnumLevel& level) const {
    std::vector<std::string> fields;
    for (const ast::EnumField& field : level.fields)
      fields.push_back((field.name ? field.name->name + " : " : "") + text(field.type->range));
    return level.name.name + (fields.empty() ? "" : "(" + llvm::join(fields, ", ") + ")");
  }

  /// Begins the section of one declaration.
  Section& begin(std::string_view kind, const std::string& prefix, const ast::Declaration& decl) {
    return sections.emplace_back(Section{kind, prefix, decl.name.name, decl.doc, 0, "", {}});
  }
  /// Adds a table to the last section, unless it would be empty.
  template <typename Declared>
  void add(std::string_view title, std::span<const Column> columns, const std::vector<Declared>& all) {
    if (!all.empty()) sections.back().tables.push_back(table(title, columns, std::span(all)));
  }
  /// Adds a section for all declarations of one kind, unless there are none.
  template <typename Declared>
  void all(std::string_view title, std::span<const Column> columns, const std::vector<Declared>& all) {
    if (all.empty()) return;
    sections.emplace_back().name = title;
    add("", columns, all);
  }

  /// Adds a study or a part.
  void study(std::string_view kind, const ast::StudyDecl& decl) {
    begin(kind, kind == "part" ? prefix : "", decl);
    add("Factors", kFactors, decl.factors);
    if (kind == "part") add("Rules", kRules, decl.rules);
  }

  /// Adds a workload or a service with its parts. A workload without `version` has version 1.
  void workload(std::string_view kind, const ast::WorkloadDecl& decl) {
    Section& section = begin(kind, prefix, decl);
    if (kind == "workload") section.version = decl.version.value_or(1);
    std::vector<std::string> arguments;
    if (decl.command)
      for (const ast::CommandArgument& argument : decl.command->arguments) arguments.push_back(text(argument.range));
    section.command = llvm::join(arguments, " ");
    add("Parameters", kParameters, decl.params);
    add("Metrics", kMetrics, decl.metrics);
    add("Rules", kRules, decl.rules);
    add("Names in its conditions and estimates", kNames, decl.lets);
    add("Expected before a run", kEstimates, decl.estimates);
  }

  /// Adds a system. Its properties are padded so that their values line up in the terminal.
  void system(const ast::SystemDecl& decl) {
    begin("system", prefix, decl);
    add("", kProperties, decl.properties);
    // Markdown needs no padding: there `after` is not shown.
    size_t widest = 0;
    for (const ast::Assignment& property : decl.properties)
      widest = std::max(widest, text(property.target.range).size());
    for (Table& table : sections.back().tables)
      for (Row& row : table.rows) row.after.insert(0, widest - row.cells[0].size(), ' ');
  }

  /// The text of a type without its refinement, which has a column of its own.
  std::string typeName(const ast::TypeExpr& type) const {
    source::Range range = type.range;
    if (!type.refinement) return text(range);
    // The text of a type in front of its refinement ends in `in`.
    std::string_view whole = sources.text(source::Range{range.file, range.begin, type.refinement->range.begin});
    const size_t in = whole.rfind("in");
    return source::squeeze(whole.substr(0, in));
  }
};

/// The text up to the first full stop that ends a sentence: one before a blank and a capital, so that "e.g. this" does
/// not end it.
std::string firstSentence(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  for (size_t at = text.find(". "); at != std::string::npos; at = text.find(". ", at + 1))
    if (at + 2 < text.size() && text[at + 2] >= 'A' && text[at + 2] <= 'Z') return text.substr(0, at + 1);
  return text;
}

/// A line for the list of modules: the comment's first sentence, a single workload with its own, or just the names.
std::string summaryOf(const std::string& doc, const ast::Module& module) {
  if (!doc.empty()) return firstSentence(doc);
  if (module.workloads.size() == 1 && !module.workloads[0].doc.empty())
    return module.workloads[0].name.name + ": " + firstSentence(module.workloads[0].doc);
  // No comment sums the module up, so the names of its declarations must do.
  std::vector<std::string> names;
  const auto add = [&](const auto& all) {
    for (const auto& declared : all) names.push_back(declared.name.name);
  };
  add(module.workloads);
  add(module.services);
  add(module.systems);
  add(module.parts);
  add(module.studies);
  add(module.enums);
  add(module.units);
  add(module.lets);
  return llvm::join(names, ", ");
}

}  // namespace

ModulePage modulePage(const source::SourceManager& sources, const ast::Module& module, std::string title,
                      std::string prefix) {
  ModulePage out;
  out.title = std::move(title);
  out.doc = openingComment(sources.text(module.file));
  out.summary = summaryOf(out.doc, module);
  for (const ast::WorkloadDecl& decl : module.workloads) out.workloads.push_back(decl.name.name);
  out.sections = Writer{sources, std::move(prefix)}.run(module);
  return out;
}

Table tableOf(const source::SourceManager& sources, const ast::ParamDecl& param) {
  return Writer{sources}.table("", kParameters, std::span(&param, 1));
}

Table tableOf(const source::SourceManager& sources, const ast::MetricDecl& metric) {
  return Writer{sources}.table("", kMetrics, std::span(&metric, 1));
}

// Two passes: sections first, then the enums that the kept workload's parameters need.
void keepWorkload(ModulePage& page, std::string_view name) {
  std::erase_if(page.sections, [&](const Section& section) {
    return section.kind.empty() ? section.name != "Enums" : section.kind != "workload" || section.name != name;
  });
  // The types of the parameters, by name, tell which enums are needed. Sections keep their order, so the workload is
  // first.
  std::set<std::string> types;
  for (const Table& table : page.sections[0].tables)
    if (table.title == "Parameters")
      for (const Row& row : table.rows) types.insert(row.cells[1]);
  for (Section& section : page.sections)
    if (section.kind.empty())
      std::erase_if(section.tables[0].rows, [&](const Row& row) { return !types.contains(row.cells[0]); });
}

// ---- as text

namespace {

/// Text for a cell of a Markdown table: one line, with bars escaped.
std::string cell(const std::string& text, bool code) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return code && !out.empty() ? "`" + out + "`" : out;
}

/// A Markdown table, without the columns that are empty in all rows.
std::string print(const Table& table) {
  const size_t columns = table.columns.size();
  std::vector<std::vector<std::string>> rows;
  // One more column than the table has: the comments.
  std::vector<bool> used(columns + 1, false);
  for (const Row& row : table.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (size_t at = 0; at < columns; ++at)
      cells.push_back(row.cells[at].empty() ? std::string(table.columns[at].missing)
                                            : cell(row.cells[at], table.columns[at].code));
    cells.push_back(cell(row.doc, false));
    for (size_t at = 0; at <= columns; ++at) used[at] = used[at] || !cells[at].empty();
  }
  // A row of the table: the values of all columns in use.
  const auto line = [&](const auto& value) {
    std::string out = "|";
    for (size_t at = 0; at <= columns; ++at)
      if (used[at]) out += fmt::format(" {} |", value(at));
    return out + "\n";
  };
  std::string out = line([&](size_t at) { return at < columns ? table.columns[at].head : "meaning"; });
  out += line([](size_t) { return "---"; });
  for (const std::vector<std::string>& cells : rows) out += line([&](size_t at) { return cells[at]; });
  return out + "\n";
}

/// A comment wrapped to the style's width, behind a margin of `indent`; "" for an empty one.
std::string wrapped(const std::string& text, unsigned indent, const editor::TextStyle& style) {
  if (text.empty()) return "";
  // Narrow terminals still get twenty columns of text, else words would stand below each other.
  const editor::TextStyle inner{style.width > indent + 20 ? style.width - indent : 20, style.colour};
  const std::string lines = editor::renderMarkdown(text, inner);
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    if (end > at) out += std::string(indent, ' ') + lines.substr(at, end - at);
    out += "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

// Headings: one for each section, with the module's prefix as a study would write it, and one for each table.
std::string renderMarkdown(const ModulePage& page) {
  std::string out = "# " + page.title + "\n\n";
  const auto add = [&](const std::string& text) {
    if (!text.empty()) out += text + "\n\n";
  };
  add(page.doc);
  for (const Section& section : page.sections) {
    add(fmt::format("## {}{}{}{}", section.kind, section.kind.empty() ? "" : " ", section.prefix, section.name));
    add(section.doc);
    if (section.version > 0)
      add(fmt::format("Version {}.{}", section.version,
                      section.command.empty() ? "" : fmt::format(" Runs `{}`.", section.command)));
    for (const Table& table : section.tables) {
      if (!table.title.empty()) add(fmt::format("### {}", table.title));
      out += print(table);
    }
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

// Each row is written as its declaration: head, name in colour, then the columns that finish() and table() joined.
std::string renderText(const ModulePage& page, const editor::TextStyle& style) {
  std::string out = style.paint("1", page.title) + "\n\n";
  const auto comment = [&](const std::string& text, unsigned indent) {
    out += wrapped(text, indent, style) + (text.empty() ? "" : "\n");
  };
  comment(page.doc, 0);
  for (const Section& section : page.sections) {
    // Sections of one declaration have a kind; their rows are indented one level more.
    const bool one = !section.kind.empty();
    out += fmt::format("{}{}{}", section.kind, one ? " " : "", style.paint("1", section.prefix + section.name));
    out += section.version > 0 ? fmt::format("  version {}\n\n", section.version) : "\n\n";
    comment(section.doc, 2);
    if (!section.command.empty()) out += fmt::format("  runs {}\n\n", section.command);
    for (const Table& table : section.tables) {
      if (!table.title.empty()) out += fmt::format("  {}\n", style.paint("1", table.title));
      for (const Row& row : table.rows) {
        out += fmt::format("{:{}}{}{}{}\n", "", one ? 4 : 2, row.before, style.paint("36", row.cells[0]), row.after);
        out += wrapped(row.doc, one ? 8 : 6, style) + wrapped(row.because, one ? 8 : 6, style);
      }
      out += "\n";
    }
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace expc::editor
