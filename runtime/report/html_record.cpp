#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/commands.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_table.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/remarks.h"
#include "runtime/report/study_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

constexpr size_t kMaxFailures = 50;
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

std::string factTable(const std::map<std::string, std::string>& rows, std::string_view label) {
  HtmlFacts facts("facts", label);
  for (const auto& [name, text] : rows) facts.fact(name, html(text));
  return facts.text();
}

std::string environmentTable(const std::string& json) {
  if (json.empty()) return "";
  auto value = plan::parseJson(json);
  if (!value) {
    llvm::consumeError(value.takeError());
    return "<pre>" + html(json) + "</pre>";
  }
  std::map<std::string, std::string> rows;
  flatten(*value, "", rows);
  return factTable(rows, "Environment of the session");
}

/// What the workers said of themselves: what all agree on as it is, what differs as a list of values with their trials.
std::string workerTable(const store::Results& results) {
  std::map<std::string, std::map<std::string, unsigned>> values;
  std::map<std::string_view, unsigned> said;  // most trials say the same
  for (const store::Trial& trial : results.trials) ++said[trial.environment_json];
  for (const auto& [json, trials] : said) {
    auto value = plan::parseJson(json);
    if (!value) {
      llvm::consumeError(value.takeError());
      continue;
    }
    if (llvm::json::Object* said_of = value->getAsObject()) said_of->erase("readings");  // they differ in each trial
    std::map<std::string, std::string> rows;
    flatten(*value, "", rows);
    for (const auto& [name, text] : rows) values[name][text] += trials;
  }
  std::map<std::string, std::string> merged;
  for (const auto& [name, counts] : values) {
    std::vector<std::string> texts;
    for (const auto& [text, count] : counts)
      texts.push_back(counts.size() == 1 ? text : fmt::format("{} ({})", text, counted(count, "trial")));
    merged[name] = texts.size() <= kMaxValues ? joined(texts, "; ") : fmt::format("{} different values", texts.size());
  }
  return merged.empty() ? ""
                        : "<h3>What the workers said of themselves</h3>" +
                              factTable(merged, "What the workers said of themselves");
}

std::string statusTable(const Page& page) {
  HtmlTable table("cells", "Trials of each kind");
  table.column("kind");
  for (const char* head : {"planned", "valid", "failed", "timed out", "infeasible", "disturbed"})
    table.column(head, true);
  for (const plan::KindDesign& kind : page.plan.design.kinds) {
    unsigned planned = 0, valid = 0, failed = 0, timeouts = 0, infeasible = 0, invalid = 0;
    for (const analysis::PointStatus& status : page.judgement.points) {
      if (status.kind != kind.kind) continue;
      planned += status.planned;
      valid += status.valid;
      failed += status.failed;
      timeouts += status.timeouts;
      infeasible += status.infeasible;
      invalid += status.invalid;
    }
    table.row().head(toString(kind.kind));
    for (const unsigned count : {planned, valid, failed, timeouts, infeasible, invalid})
      table.number(fmt::format("{}", count));
  }
  return table.text();
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
  HtmlTable table("cells", "Points left out");
  table.column("rule").column("points", true).column("because").column("for example");
  for (const plan::RemovedGroup& group : plan.removed) {
    std::vector<std::string> examples;
    for (const auto& labels : group.examples) examples.push_back(exampleText(plan, labels));
    if (group.count > group.examples.size()) examples.emplace_back("…");
    table.row()
        .head(html(group.rule) + "<small>" + html(group.location) + "</small>")
        .number(fmt::format("{}", group.count))
        .cell(htmlProse(group.because))
        .cell(html(joined(examples, "; ")), "quiet");
  }
  Reasons reasons;
  for (const plan::Point& point : plan.points) {
    if (!point.unavailable.empty())
      reasons.add(point.unavailable, plan.label(point));
    else if (!point.expected_infeasible.empty())
      reasons.add("expected infeasible, not started unless asked: " + point.expected_infeasible, plan.label(point));
  }
  const std::vector<std::string> unavailable = reasons.lines("not available here", "not available here");
  std::string out = "<section id=\"points\"><h2>Points left out</h2>";
  const std::string selection = selectionText(plan);
  if (!selection.empty())
    out += fmt::format("<p>Only what {} leaves of the study is spoken of here; the levels are under Design.</p>",
                       html(selection));
  if (page.plan.removed.empty() && unavailable.empty())
    return out + fmt::format("<p>None: all {} were planned, and this system can run them all.</p></section>\n",
                             counted(plan.points.size(), "point"));
  out += fmt::format("<p>The product has {}; {} planned.</p>", counted(plan.product, "point"),
                     plan.points.size() == 1 ? "1 is" : fmt::format("{} are", plan.points.size()));
  if (!plan.removed.empty()) out += table.text();
  for (const std::string& text : unavailable) out += "<p>" + html(text) + "</p>";
  return out + "</section>\n";
}

std::string designSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  std::string out = "<section id=\"design\"><h2>Design</h2><div class=\"columns\"><div><h3>Factors</h3>";
  HtmlFacts factors("pairs", "Factors and their levels");
  for (const plan::Factor& factor : plan.factors) {
    std::string levels;
    for (size_t i = 0; i < factor.levels.size(); ++i) {
      if (i) levels += ", ";
      levels += factor.baseline == i ? "<b title=\"baseline\">" + html(factor.levels[i].label) + "</b>"
                                     : html(factor.levels[i].label);
    }
    if (const std::string declared = declaredText(factor); !declared.empty())
      levels += "<small>of " + html(declared) + "</small>";
    factors.fact(factor.name, levels);
  }
  out += factors.text() + "<p class=\"quiet\">Baselines are bold.</p><h3>Trials</h3>";
  HtmlFacts kinds("pairs", "Kinds of trials");
  for (const plan::KindDesign& kind : plan.design.kinds)
    kinds.fact(
        toString(kind.kind),
        fmt::format("{}<small>{}</small><small>measures {}</small>",
                    kind.most() > kind.repeat ? repetitionsText(kind) + " blocks" : counted(kind.repeat, "block"),
                    html(settingsText(kind.settings)), html(joined(metricsOf(plan, kind.kind)))));
  out += kinds.text();
  const bool trains = std::any_of(plan.workloads.begin(), plan.workloads.end(),
                                  [](const plan::Workload& workload) { return !workload.command; });
  out += fmt::format(
      "<p class=\"quiet\">Each block runs every point once in a fresh random order (seed {}). {} within a "
      "block.</p></div><div><h3>Held fixed</h3>",
      plan.design.seed, trains ? "Weights, data order and dropout start from one seed" : "Commands are given one seed");
  HtmlFacts fixed("facts", "Held fixed");
  for (const auto& [name, text] : fixedParameters(plan)) fixed.fact(name, html(text));
  return out + fixed.text() + "</div></div></section>\n";
}

std::string trialSection(const Page& page) {
  std::string out = "<section id=\"trials\"><h2>Trials</h2>" + statusTable(page);
  const auto lost = lostTrials(page.results);
  if (!lost.empty()) out += fmt::format("<h3>{} did not end well</h3>", counted(lost.size(), "trial"));
  for (size_t i = 0; i < lost.size() && i < kMaxFailures; ++i) {
    const store::Trial& trial = *lost[i];
    out += fmt::format("<details class=\"failure\"><summary><b>{}</b> {} {}: {}</summary>",
                       html(store::toString(trial.status)), toString(trial.key->kind),
                       html(placeText(page.plan, trial.place())), html(trial.reason));
    out +=
        trial.log_tail.empty() ? "<p class=\"quiet\">It wrote no log.</p>" : "<pre>" + html(trial.log_tail) + "</pre>";
    out += "</details>";
  }
  if (lost.size() > kMaxFailures)
    out += fmt::format("<p class=\"quiet\">… and {} more.</p>", lost.size() - kMaxFailures);
  for (const Described& block : missingRemarks(page.plan, page.judgement, page.results))
    if (block.title != kLostTitle) out += folded(block);
  return out + "</section>\n";
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
    out += environmentTable(session.environment_json);
  }
  out += workerTable(page.results);
  return out + "</section>\n";
}

std::string repeatSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  std::string out = "<section id=\"repeat\"><h2>How to repeat it</h2><pre class=\"command\"><code>" +
                    html(replicateCommand(plan, page.options.folder)) + "</code></pre>";
  out +=
      "<p class=\"quiet\">It measures everything anew, into a folder of its own, and says which of these verdicts hold "
      "there. "
      "<code>expc bundle</code> makes an archive of study, data and results for another machine.</p>";
  out += "<dl class=\"strip\">" + fact("Study", html(plan.source)) +
         fact("Digest of the lowered study", "<code>" + html(plan.digest) + "</code>") +
         fact("Workload", html(workloadText(plan)));
  if (const auto digests = dataDigests(page.results); !digests.empty())
    out += fact("Digest of data and program", "<code>" + html(joined(digests)) + "</code>");
  return out +
         "</dl><p><button type=\"button\" id=\"download\" hidden>Save the data (JSON)</button></p><p "
         "class=\"quiet\">For "
         "other programs: <code>expc export</code> writes every trial and every series as tables (CSV, "
         "Parquet).</p></section>\n";
}

}  // namespace expc::report
