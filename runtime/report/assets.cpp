// The files of assets/ as parts of the binary, and the filling of chart templates. A template is Vega-Lite with holes
// and conditions; filling copies it and leaves out what the study does not say, so that a template can list everything
// that a chart may have.

#include "runtime/report/assets.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/base/embedded.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"

#define EXPC_ASSET(name, path) EXPC_EMBEDDED(expc::report::assets, name, path)

EXPC_ASSET(style, EXPC_ASSETS "/report.css")
EXPC_ASSET(page, EXPC_ASSETS "/page.html")
EXPC_ASSET(reading, EXPC_ASSETS "/reading.html")
EXPC_ASSET(script, EXPC_ASSETS "/report.js")
EXPC_ASSET(chartLibrary, EXPC_CHART_LIBRARY)
EXPC_ASSET(chartConfig, EXPC_ASSETS "/chart_config.json")
EXPC_ASSET(estimates, EXPC_ASSETS "/estimates.vl.json")
EXPC_ASSET(heatMap, EXPC_ASSETS "/heat_map.vl.json")
EXPC_ASSET(curves, EXPC_ASSETS "/curves.vl.json")
EXPC_ASSET(scatter, EXPC_ASSETS "/scatter.vl.json")
EXPC_ASSET(profile, EXPC_ASSETS "/profile.vl.json")

namespace expc::report {
namespace {

using json::Array;
using json::Object;
using json::Value;

/// Looks up "outer.inner" in the study's settings; null if it is not there.
const Value* said(StringRef name, const Object& study) {
  const auto [outer, inner] = name.split('.');
  const Value* value = study.get(outer);
  if (inner.empty() || !value) return value;
  const Object* object = value->getAsObject();
  return object ? said(inner, *object) : nullptr;
}

/// Fills the holes of a text; nothing if one has no value. A text that is only a hole becomes the value itself, with
/// its type.
std::optional<Value> filledText(StringRef text, const Object& study) {
  std::string out;
  for (size_t hole; (hole = text.find("${")) != StringRef::npos;) {
    const size_t end = text.find('}', hole);
    const Value* value = said(text.slice(hole + 2, end), study);
    if (!value) return std::nullopt;
    // The whole text is one hole: the value keeps its type, so that numbers stay numbers.
    if (hole == 0 && end + 1 == text.size() && out.empty()) return *value;
    out += text.take_front(hole);
    const auto words = value->getAsString();
    out += words ? words->str() : canonicalJson(*value);
    text = text.drop_front(end + 1);
  }
  return Value(out + text.str());
}

/// Fills a part of a template; nothing if it is left out.
std::optional<Value> filledPart(const Value& part, const Object& study) {
  if (const auto text = part.getAsString()) return filledText(*text, study);
  if (const Array* elements = part.getAsArray()) {
    Array out;
    for (const Value& element : *elements)
      if (auto value = filledPart(element, study)) out.push_back(std::move(*value));
    return out;
  }
  const Object* members = part.getAsObject();
  if (!members) return part;
  // A condition decides about the whole object before its members are looked at.
  if (const auto asked = members->getString("if")) {
    const Value* value = said(*asked, study);
    if (!value || value->getAsBoolean() == false) {
      const Value* other = members->get("else");
      return other ? filledPart(*other, study) : std::nullopt;
    }
  }
  Object out;
  for (const auto& [name, member] : *members)
    // The condition itself is no part of the specification.
    if (name != "if" && name != "else")
      if (auto value = filledPart(member, study)) out[name] = std::move(*value);
  return out;
}

}  // namespace

Object filled(std::string_view file, const Object& study) {
  return std::move(*filledPart(cantFail(parseJson(file)), study)->getAsObject());
}

}  // namespace expc::report
