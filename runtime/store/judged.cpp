// What the verdicts of a run are about, as the entry of its end says it.

#include <string>

#include "runtime/plan/evaluate.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan_words.h"
#include "runtime/store/store.h"

namespace expc::store {

namespace words = plan::words;

std::string judgedText(const plan::Plan& plan) {
  Judged judged;
  for (const plan::KindDesign& design : plan.design.kinds) judged.planned[design.kind] = {design.repeat, design.looks};
  for (const plan::Criterion& criterion : plan.criteria) {
    if (!criterion.confidence || criterion.infeasible) continue;
    for (const plan::Cell& cell : criterion.cells) judged.subjects.insert(plan::subjectOf(plan, cell));
  }
  return plan::canonicalJson(toJson(judged));
}

llvm::json::Value toJson(const Judged& judged) {
  llvm::json::Array kinds;
  for (const auto& [kind, planned] : judged.planned)
    kinds.push_back(llvm::json::Object{
        {"kind", words::name(words::kKind, kind)}, {"repeat", planned.repeat}, {"looks", planned.looks}});
  return llvm::json::Object{{"planned", std::move(kinds)},
                            {"subjects", plan::jsonTexts({judged.subjects.begin(), judged.subjects.end()})}};
}

llvm::Expected<Judged> judgedFromJson(const llvm::json::Value& value) {
  plan::JsonErrors errors;
  const plan::JsonPath root;
  plan::JsonFields in(errors, value, root);
  Judged judged;
  in.each("planned", [&](const llvm::json::Value& item, const plan::JsonPath& at) {
    plan::JsonFields kind(errors, item, at);
    Judged::Planned& planned = judged.planned[kind.word<plan::TrialKind>("kind", words::kKind)];
    planned.repeat = kind.small("repeat", 1);
    kind.each("looks", [&](const llvm::json::Value& look, const plan::JsonPath& look_at) {
      if (const auto number = look.getAsUINT64())
        planned.looks.push_back(static_cast<unsigned>(*number));
      else
        errors.add(look_at, "expected a number of repetitions");
    });
  });
  for (std::string& subject : in.strings("subjects")) judged.subjects.insert(std::move(subject));
  if (auto error = errors.take("what a run judged")) return error;
  return judged;
}

}  // namespace expc::store
