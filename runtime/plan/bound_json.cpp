#include "runtime/plan/bound_json.h"

#include "runtime/plan/plan_words.h"

namespace expc::plan {

llvm::json::Object toJson(const Bound& bound) {
  llvm::json::Object object{
      {"relation", words::name(words::kRelation, bound.relation)}, {"low", bound.low}, {"text", jsonText(bound.text)}};
  if (bound.relation == Relation::Within) object["high"] = bound.high;
  return object;
}

Bound readBound(JsonErrors& errors, const llvm::json::Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Bound bound;
  bound.relation = in.word<Relation>("relation", words::kRelation);
  bound.low = in.number("low");
  if (bound.relation == Relation::Within) {
    bound.high = in.number("high");
    if (bound.low > bound.high) in.fail("high", "the band's upper end is below its lower end");
  }
  bound.text = in.string("text");
  in.refuseOthers();
  return bound;
}

}  // namespace expc::plan
