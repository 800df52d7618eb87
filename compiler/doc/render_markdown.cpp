#include <fmt/format.h>

#include <algorithm>

#include "compiler/doc/render.h"

namespace expc::doc {

namespace {

/// Text for a cell of a table: one line, bars escaped.
std::string cell(std::string text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

void add(std::string& out, const std::string& doc) {
  if (!doc.empty()) out += doc + "\n\n";
}

/// A table without the columns that are empty throughout.
std::string table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows) {
  std::vector<bool> used(heads.size(), false);
  for (const std::vector<std::string>& row : rows)
    for (size_t i = 0; i < row.size(); ++i) used[i] = used[i] || !row[i].empty();
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out = "|";
    for (size_t i = 0; i < cells.size(); ++i)
      if (used[i]) out += " " + cells[i] + " |";
    return out + "\n";
  };
  std::string out = line(heads) + line(std::vector<std::string>(heads.size(), "---"));
  for (const std::vector<std::string>& row : rows) out += line(row);
  return out + "\n";
}

std::string parameters(const std::vector<Entry>& entries) {
  std::vector<std::vector<std::string>> rows;
  for (const Entry& entry : entries)
    rows.push_back({code(entry.name), code(entry.type), code(entry.range),
                    entry.fallback.empty() ? "must be given" : code(entry.fallback), code(entry.when),
                    cell(entry.doc)});
  return table({"parameter", "type", "range", "default", "active when", "meaning"}, rows);
}

std::string metrics(const std::vector<Entry>& entries) {
  std::vector<std::vector<std::string>> rows;
  for (const Entry& entry : entries)
    rows.push_back({code(entry.name), code(entry.type + (entry.range.empty() ? "" : " in " + entry.range)),
                    entry.direction, entry.kind, code(entry.fallback), code(entry.source), cell(entry.doc)});
  return table({"metric", "type", "better", "from trials", "is", "read from", "meaning"}, rows);
}

std::string rules(const std::vector<RulePage>& rules) {
  std::vector<std::vector<std::string>> rows;
  for (const RulePage& rule : rules)
    rows.push_back({code(rule.name), code((rule.exclude ? "exclude " : "require ") + rule.condition),
                    cell(rule.because), cell(rule.doc)});
  return table({"rule", "condition", "because", "meaning"}, rows);
}

std::string named(const char* head, const std::vector<Entry>& entries) {
  std::vector<std::vector<std::string>> rows;
  for (const Entry& entry : entries)
    rows.push_back({code(entry.name), code(entry.type), code(entry.range), code(entry.when), cell(entry.doc)});
  return table({head, "value", "levels", "active when", "meaning"}, rows);
}

std::string workload(const ModulePage& page, const WorkloadPage& workload) {
  std::string out = fmt::format("## workload {}{}\n\n", page.prefix, workload.name);
  add(out, workload.doc);
  out += fmt::format("Version {}.", workload.version);
  if (!workload.command.empty()) out += fmt::format(" Runs `{}`.", workload.command);
  out += "\n\n";
  if (!workload.parameters.empty()) out += "### Parameters\n\n" + parameters(workload.parameters);
  if (!workload.metrics.empty()) out += "### Metrics\n\n" + metrics(workload.metrics);
  if (!workload.rules.empty()) out += "### Rules\n\n" + rules(workload.rules);
  if (!workload.lets.empty()) out += "### Names in its conditions and estimates\n\n" + named("name", workload.lets);
  if (!workload.estimates.empty()) out += "### Expected before a run\n\n" + named("metric", workload.estimates);
  return out;
}

}  // namespace

std::string renderMarkdown(const ModulePage& page) {
  std::string out = "# " + page.title + "\n\n";
  add(out, page.doc);
  for (const WorkloadPage& entry : page.workloads) out += workload(page, entry);
  if (!page.enums.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const EnumPage& entry : page.enums) {
      std::string levels;
      for (const std::string& level : entry.levels) levels += (levels.empty() ? "" : ", ") + code(level);
      rows.push_back({code(entry.name), (entry.ordered ? "in order: " : "") + levels, cell(entry.doc)});
    }
    out += "## Enums\n\n" + table({"enum", "levels", "meaning"}, rows);
  }
  if (!page.units.empty()) out += "## Units\n\n" + named("unit", page.units);
  if (!page.lets.empty()) out += "## Values\n\n" + named("name", page.lets);
  if (!page.metrics.empty()) out += "## Metrics\n\n" + metrics(page.metrics);
  for (const SystemPage& system : page.systems) {
    out += fmt::format("## system {}{}\n\n", page.prefix, system.name);
    add(out, system.doc);
    out += named("property", system.properties);
  }
  if (!page.references.empty()) out += "## References\n\n" + named("reference", page.references);
  for (const StudyPage& study : page.studies) {
    out += fmt::format("## study {}\n\n", study.name);
    add(out, study.doc);
    if (!study.factors.empty()) out += named("factor", study.factors);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace expc::doc
