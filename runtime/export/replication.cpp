#include "runtime/export/replication.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/meaning.h"
#include "runtime/export/outcome.h"
#include "runtime/plan/find.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/report/verdict_text.h"

namespace expc::exports {
namespace {

using analysis::Answer;

constexpr size_t kListedCells = 8;

bool decided(Answer answer) { return answer == Answer::Holds || answer == Answer::Fails; }

Replication replicationOf(const std::vector<Answer>& answers) {
  if (!decided(answers.front())) return Replication::NoConclusion;
  Replication found = Replication::Open;
  for (size_t i = 1; i < answers.size(); ++i) {
    if (!decided(answers[i])) continue;
    if (answers[i] != answers.front()) return Replication::Contradicted;
    found = Replication::Holds;
  }
  return found;
}

class ReplicationPrinter : report::TerminalText {
 public:
  ReplicationPrinter(unsigned width, bool colour) : TerminalText(width, colour) {}

  std::string print(const plan::Plan& plan, const std::vector<Place>& places, const std::vector<Replicated>& criteria) {
    out_ += "\n" + paint_.bold("replication of study " + report::printable(plan.study)) + '\n';
    for (const Replicated& one : criteria) {
      out_ += '\n';
      line(painted(one.replication) + "  " + paint_.bold(report::printable(one.name)) + ": " +
               report::printable(one.text),
           0, 6);
      for (size_t i = 0; i < places.size(); ++i) {
        line(report::printable(places[i].name) + ": " + one.verdicts[i] +
                 (one.why[i].empty() ? "" : ": " + report::printable(one.why[i])),
             2, 6);
        for (size_t cell = 0; cell < one.cells[i].size() && cell < kListedCells; ++cell)
          line(report::printable(one.cells[i][cell]), 6, 8);
        if (one.cells[i].size() > kListedCells)
          line(fmt::format("… and {} more", one.cells[i].size() - kListedCells), 6, 8);
      }
    }
    out_ += '\n';
    std::vector<std::string> counts;
    for (const Replication kind :
         {Replication::Holds, Replication::Contradicted, Replication::Open, Replication::NoConclusion}) {
      const auto count = std::count_if(criteria.begin(), criteria.end(),
                                       [&](const Replicated& one) { return one.replication == kind; });
      if (count > 0) counts.push_back(fmt::format("{} {}", count, toString(kind)));
    }
    if (criteria.empty()) counts.emplace_back("the study has no criterion, so there is nothing to replicate");
    line(report::joined(counts), 0, 2);
    return std::move(out_);
  }

 private:
  std::string painted(Replication replication) const {
    const std::string word(toString(replication));
    switch (replication) {
      case Replication::Holds:
        return paint_.green(word);
      case Replication::Contradicted:
        return paint_.red(word);
      case Replication::Open:
        return paint_.yellow(word);
      case Replication::NoConclusion:
        return paint_.faint(word);
    }
    return word;
  }
};

}  // namespace

std::string_view toString(Replication replication) {
  switch (replication) {
    case Replication::Holds:
      return "replicated";
    case Replication::Contradicted:
      return "contradicted";
    case Replication::Open:
      return "open";
    case Replication::NoConclusion:
      return "without a conclusion to replicate";
  }
  return "";
}

std::vector<Replicated> replicate(const plan::Plan& plan, const std::vector<Place>& places) {
  std::vector<Replicated> all;
  for (const plan::Criterion& criterion : plan.criteria) {
    if (criterion.not_asked) continue;
    Replicated one{criterion.name, criterion.text, Replication::NoConclusion, {}, {}, {}};
    std::vector<Answer> answers;
    for (const Place& place : places) {
      const analysis::CriterionResult* result = plan::named(place.judgement.criteria, criterion.name);
      answers.push_back(result ? analysis::meaningOf(*result).answer : Answer::NotAsked);
      one.verdicts.push_back(result ? report::markedVerdict(*result) : "NOT ASKED");
      one.why.push_back(result ? result->why : "");
      std::vector<std::string> cells;
      if (result)
        for (const auto& cell : result->cells) cells.push_back(cellLine(plan, criterion, cell));
      one.cells.push_back(std::move(cells));
    }
    one.replication = replicationOf(answers);
    all.push_back(std::move(one));
  }
  return all;
}

std::string replicationText(const plan::Plan& plan, const std::vector<Place>& places,
                            const std::vector<Replicated>& criteria, unsigned width, bool colour) {
  return ReplicationPrinter(width, colour).print(plan, places, criteria);
}

llvm::json::Value replicationJson(const plan::Plan& plan, const std::vector<Place>& places,
                                  const std::vector<Replicated>& criteria) {
  llvm::json::Array all;
  for (const Replicated& one : criteria) {
    llvm::json::Array found;
    for (size_t i = 0; i < places.size(); ++i)
      found.push_back(llvm::json::Object{{"place", plan::jsonText(places[i].name)},
                                         {"verdict", one.verdicts[i]},
                                         {"why", plan::jsonText(one.why[i])},
                                         {"cells", plan::jsonTexts(one.cells[i])}});
    all.push_back(llvm::json::Object{{"name", plan::jsonText(one.name)},
                                     {"text", plan::jsonText(one.text)},
                                     {"replication", std::string(toString(one.replication))},
                                     {"places", std::move(found)}});
  }
  return llvm::json::Object{
      {"schema", "expc.replicate/1"}, {"study", plan::jsonText(plan.study)}, {"criteria", std::move(all)}};
}

}  // namespace expc::exports
