#include <fmt/format.h>

#include <algorithm>

#include "compiler/doc/render.h"

namespace expc::doc {

namespace {

class TextRenderer {
 public:
  explicit TextRenderer(const explain::TextStyle& style) : style_(style) {}

  std::string render(const ModulePage& page) {
    out_ = paint("1", page.title) + "\n\n";
    prose(page.doc, 0);
    for (const WorkloadPage& workload : page.workloads) add(page, workload);
    if (!page.enums.empty()) heading("Enums");
    for (const EnumPage& entry : page.enums) add(entry);
    entries("Units", page.units, " = ");
    entries("Values", page.lets, " = ");
    list("Metrics", page.metrics);
    for (const SystemPage& system : page.systems) {
      declared("system", page.prefix + system.name, "");
      prose(system.doc, 2);
      aligned(system.properties);
    }
    entries("References", page.references, " from ");
    for (const StudyPage& study : page.studies) {
      declared("study", study.name, "");
      prose(study.doc, 2);
      list("Factors", study.factors);
    }
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return style_.colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  void heading(std::string_view text) { out_ += paint("1", text) + "\n\n"; }
  void declared(std::string_view what, std::string_view name, std::string_view rest) {
    out_ += fmt::format("{} {}{}\n", what, paint("1", name), rest);
    out_ += "\n";
  }

  /// A comment, wrapped and indented, and an empty line; nothing where there is none.
  void prose(const std::string& text, unsigned indent, bool gap = true) {
    if (text.empty()) return;
    const explain::TextStyle inner{style_.width > indent + 20 ? style_.width - indent : 20, style_.colour};
    const std::string wrapped = explain::renderMarkdown(text, inner);
    for (size_t at = 0; at < wrapped.size();) {
      const size_t end = std::min(wrapped.find('\n', at), wrapped.size());
      if (end > at) out_ += std::string(indent, ' ') + wrapped.substr(at, end - at);
      out_ += "\n";
      at = end + 1;
    }
    if (gap) out_ += "\n";
  }

  void list(std::string_view title, const std::vector<Entry>& entries) {
    if (entries.empty()) return;
    out_ += "  " + paint("1", title) + "\n";
    for (const Entry& entry : entries) {
      const std::string signature = entry.signature();
      const bool spaced = signature.starts_with(':');
      out_ += fmt::format("    {}{}{}\n", paint("36", entry.name), spaced ? " " : "", signature);
      prose(entry.doc, 8, false);
    }
    out_ += "\n";
  }

  void aligned(const std::vector<Entry>& entries) {
    size_t widest = 0;
    for (const Entry& entry : entries) widest = std::max(widest, entry.name.size());
    for (const Entry& entry : entries)
      out_ += fmt::format("    {}{} = {}\n", paint("36", entry.name), std::string(widest - entry.name.size(), ' '),
                          entry.type);
    out_ += "\n";
  }

  void entries(std::string_view title, const std::vector<Entry>& entries, std::string_view between) {
    if (entries.empty()) return;
    heading(title);
    for (const Entry& entry : entries) {
      out_ += fmt::format("  {}{}{}\n", paint("36", entry.name), entry.type.empty() ? "" : between, entry.type);
      prose(entry.doc, 6, false);
    }
    out_ += "\n";
  }

  void formulas(std::string_view title, const std::vector<Entry>& entries) {
    if (entries.empty()) return;
    out_ += "  " + paint("1", title) + "\n";
    for (const Entry& entry : entries) {
      out_ += fmt::format("    {} = {}{}\n", paint("36", entry.name), entry.type,
                          entry.when.empty() ? "" : "  when " + entry.when);
      prose(entry.doc, 8, false);
    }
    out_ += "\n";
  }

  void add(const ModulePage& page, const WorkloadPage& workload) {
    declared("workload", page.prefix + workload.name, fmt::format("  version {}", workload.version));
    prose(workload.doc, 2);
    if (!workload.command.empty()) out_ += fmt::format("  runs {}\n\n", workload.command);
    list("Parameters", workload.parameters);
    list("Metrics", workload.metrics);
    if (!workload.rules.empty()) out_ += "  " + paint("1", "Rules") + "\n";
    for (const RulePage& rule : workload.rules) {
      out_ += fmt::format("    {} {}{}{}\n", rule.exclude ? "exclude" : "require", paint("36", rule.name),
                          rule.name.empty() ? "" : ": ", rule.condition);
      prose(rule.doc, 8, false);
      if (!rule.because.empty()) prose("because " + rule.because, 8, false);
    }
    if (!workload.rules.empty()) out_ += "\n";
    formulas("Names in its conditions and estimates", workload.lets);
    formulas("Expected before a run", workload.estimates);
  }

  void add(const EnumPage& entry) {
    std::string levels;
    for (const std::string& level : entry.levels) levels += (levels.empty() ? "" : ", ") + level;
    out_ += fmt::format("  {}{} {{ {} }}\n", entry.ordered ? "ordered " : "", paint("36", entry.name), levels);
    prose(entry.doc, 6, false);
    out_ += "\n";
  }

  explain::TextStyle style_;
  std::string out_;
};

}  // namespace

std::string renderText(const ModulePage& page, const explain::TextStyle& style) {
  return TextRenderer(style).render(page);
}

}  // namespace expc::doc
