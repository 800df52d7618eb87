#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/commands.h"
#include "runtime/report/document_html.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/plan_text.h"
#include "runtime/report/remarks.h"
#include "runtime/report/sections.h"
#include "runtime/report/study_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

constexpr size_t kMaxValues = 4;

std::string fact(std::string_view name, const std::string& value_html) {
  return value_html.empty() ? "" : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html(name), value_html);
}

/// A JSON object as rows "a.b.c: value", in order of the names.
void flatten(const llvm::json::Value& value, const std::string& prefix, std::map<std::string, std::string>& rows) {
  if (const auto* object = value.getAsObject()) {
    for (const auto& [key, member] : *object)
      flatten(member, prefix.empty() ? llvm::StringRef(key).str() : prefix + "." + llvm::StringRef(key).str(), rows);
    return;
  }
  if (const auto* array = value.getAsArray(); array && array->empty()) return;
  const auto text = value.getAsString();
  if (text && text->empty()) return;
  const auto bytes = llvm::StringRef(prefix).ends_with("memory") ? value.getAsNumber() : std::nullopt;
  rows[prefix] = text ? text->str() : bytes ? analysis::formatQuantity(*bytes, "B") : plan::canonicalJson(value);
}

/// What texts of JSON say: what all agree on as it is, what differs as a list of values with how many trials say each.
std::string environmentTable(const char* label, const std::map<std::string_view, unsigned>& texts) {
  std::map<std::string, std::map<std::string, unsigned>> values;
  for (const auto& [json, trials] : texts) {
    auto value = plan::parseJson(json);
    if (!value) {
      llvm::consumeError(value.takeError());
      continue;
    }
    if (llvm::json::Object* said = value->getAsObject()) said->erase("readings");  // they differ in each trial
    std::map<std::string, std::string> rows;
    flatten(*value, "", rows);
    for (const auto& [name, text] : rows) values[name][text] += trials;
  }
  std::vector<std::pair<std::string, std::string>> merged;
  for (const auto& [name, counts] : values) {
    std::vector<std::string> different;
    for (const auto& [text, count] : counts)
      different.push_back(counts.size() == 1 ? text : fmt::format("{} ({})", text, counted(count, "trial")));
    merged.emplace_back(name, different.size() <= kMaxValues ? joined(different, "; ")
                                                             : fmt::format("{} different values", different.size()));
  }
  return factTable(label, merged);
}

Table statusTable(const analysis::Judgement& judgement, const plan::Design& design) {
  using Status = analysis::PointStatus;
  static constexpr std::pair<const char*, unsigned Status::*> kCounts[] = {
      {"planned", &Status::planned},    {"valid", &Status::valid},           {"failed", &Status::failed},
      {"timed out", &Status::timeouts}, {"infeasible", &Status::infeasible}, {"disturbed", &Status::invalid}};
  Table table{.label = "Trials of each kind", .columns = {{"kind", Column::Kind::Label}}};
  for (const auto& [name, count] : kCounts) table.columns.push_back({name});
  for (const plan::KindDesign& kind : design.kinds) {
    Row row{{{std::string(toString(kind.kind))}}};
    for (const auto& [name, count] : kCounts) {
      uint64_t sum = 0;
      for (const Status& status : judgement.points)
        if (status.kind == kind.kind) sum += status.*count;
      row.add(std::to_string(sum));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Of the data, program and inputs that points read; of many the first few.
std::vector<std::string> dataDigests(const store::Results& results) {
  std::set<std::string> all;
  for (const store::Trial& trial : results.trials)
    if (!trial.key->data.empty()) all.insert(trial.key->data);
  std::vector<std::string> shown(all.begin(), all.end());
  if (shown.size() <= kMaxValues) return shown;
  shown.resize(kMaxValues);
  shown.emplace_back("…");
  return shown;
}

}  // namespace

std::string timeText(double unix_time) {
  const auto seconds = static_cast<std::time_t>(unix_time);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
  return text;
}

std::string headSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  uint64_t valid = 0;
  for (const analysis::PointStatus& status : page.judgement.points) valid += status.valid;
  std::string out = "<header class=\"top\"><p class=\"kicker\">expc study</p><h1>" + html(plan.study) + "</h1>";
  if (!plan.doc.empty()) out += "<p class=\"lead\">" + htmlProse(plan.doc) + "</p>";
  out += "<dl class=\"strip\">";
  out += fact("Workload", htmlCommand(workloadText(plan)));
  out += fact("Selection", html(selectionText(plan)));
  out += fact("Points", fmt::format("{}", plan.points.size()));
  out += fact("Valid trials", fmt::format("{}", valid));
  out += fact("Sessions", fmt::format("{}", page.results.sessions.size()));
  out += fact("Measured on", htmlProse(measuredOnText(plan, page.results)));
  const std::string by = page.options.program.empty() ? "" : " by " + page.options.program;
  out += fact("Written", html(timeText(page.options.written) + by));
  return out + "</dl></header>\n";
}

std::string pointSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  std::vector<Block> blocks = leftOutBlocks(plan);
  const std::string all = blocks.empty() ? "; this system can run them all" : "", selection = selectionText(plan);
  blocks.insert(blocks.begin(), Paragraph{"Planned: " + pointsText(plan, plan.points.size()) + all + ".", Tone::Plain});
  if (!selection.empty())
    blocks.insert(
        blocks.begin(),
        Paragraph{
            fmt::format("Only what {} leaves of the study is spoken of here; the levels are under Design.", selection),
            Tone::Plain});
  return pageSection("points", "Points left out", blocks);
}

std::string designSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  std::string out = "<section id=\"design\"><h2>Design</h2><div class=\"columns\"><div><h3>Factors</h3>";
  const PlanCounts counts = PlanCounts::of(plan);
  std::string total;
  const Table kinds = kindTable(plan, counts.available - counts.expected_infeasible, total);
  out += pageMarkup(factorTable(plan)) + "<h3>Trials: " + html(total) + "</h3>" + pageMarkup(kinds);
  const bool trains = std::any_of(plan.workloads.begin(), plan.workloads.end(),
                                  [](const plan::Workload& workload) { return !workload.command; });
  out += fmt::format(
      "<p class=\"quiet\">Each block runs every point once in a fresh random order (seed {}). {} within a "
      "block.</p></div><div><h3>Held fixed</h3>",
      plan.design.seed, trains ? "Weights, data order and dropout start from one seed" : "Commands are given one seed");
  return out + factTable("Held fixed", fixedParameters(plan)) + "</div></div></section>\n";
}

std::string trialSection(const Page& page) {
  std::vector<Block> blocks{statusTable(page.judgement, page.plan.design)};
  for (Described& block : missingRemarks(page.plan, page.judgement, page.results))
    blocks.emplace_back(std::move(block));
  return pageSection("trials", "Trials", blocks);
}

std::string environmentSection(const Page& page) {
  std::string out = "<section id=\"environment\"><h2>Environment</h2>";
  if (page.results.sessions.empty()) out += "<p>No session: nothing ran.</p>";
  for (const store::Session& session : page.results.sessions) {
    std::string workers;
    for (const store::Worker& worker : session.workers)
      workers +=
          fmt::format("; worker build {}, environment class {}", html(worker.build), html(worker.environment_class));
    out += fmt::format("<h3>Session {} on {}{}</h3><p class=\"quiet\">{} to {}{}</p>", session.id,
                       html(session.where.text()), session.onNullCards() ? ", null cards" : "",
                       timeText(session.opened.wall), timeText(session.last_seen.wall), workers);
    out += environmentTable("Environment of the session", {{session.environment_json, 1}});
  }
  std::map<std::string_view, unsigned> said;  // most trials say the same
  for (const store::Trial& trial : page.results.trials) ++said[trial.environment_json];
  constexpr const char* kTitle = "What the workers said of themselves";
  const std::string workers = environmentTable(kTitle, said);
  return out + (workers.empty() ? "" : fmt::format("<h3>{}</h3>", kTitle) + workers) + "</section>\n";
}

std::string repeatSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  std::string facts = fact("Study", html(plan.source)) +
                      fact("Digest of the lowered study", "<code>" + html(plan.digest) + "</code>") +
                      fact("Workload", html(workloadText(plan)));
  if (const auto digests = dataDigests(page.results); !digests.empty())
    facts += fact("Digest of data and program", "<code>" + html(joined(digests)) + "</code>");
  return withHoles(assets::repeat(),
                   {{"command", html(replicateCommand(plan, page.options.folder))}, {"facts", std::move(facts)}});
}

}  // namespace expc::report
