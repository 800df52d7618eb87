#include "runtime/report/assets.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <optional>
#include <string>
#include <utility>

#include "runtime/base/json.h"

// The assembler copies the files in; a string literal of a megabyte takes a compiler seconds and much memory.
#define EXPC_ASSET(name, path)                                                                    \
  __asm__(                                                                                        \
      ".section .rodata\n"                                                                        \
      ".global expc_asset_" #name ", expc_asset_" #name                                           \
      "_end\n"                                                                                    \
      "expc_asset_" #name                                                                         \
      ":\n"                                                                                       \
      ".incbin \"" path                                                                           \
      "\"\n"                                                                                      \
      "expc_asset_" #name                                                                         \
      "_end:\n"                                                                                   \
      ".byte 0\n"                                                                                 \
      ".previous\n");                                                                             \
  extern "C" const char expc_asset_##name[];                                                      \
  extern "C" const char expc_asset_##name##_end[];                                                \
  std::string_view expc::report::assets::name() {                                                 \
    return {expc_asset_##name, static_cast<size_t>(expc_asset_##name##_end - expc_asset_##name)}; \
  }

EXPC_ASSET(style, EXPC_ASSETS "/report.css")
EXPC_ASSET(page, EXPC_ASSETS "/page.html")
EXPC_ASSET(reading, EXPC_ASSETS "/reading.html")
EXPC_ASSET(script, EXPC_ASSETS "/report.js")
EXPC_ASSET(chartLibrary, EXPC_CHART_LIBRARY)
EXPC_ASSET(chartConfig, EXPC_ASSETS "/chart_config.json")
EXPC_ASSET(drawScript, EXPC_ASSETS "/draw_chart.py")
EXPC_ASSET(parquetScript, EXPC_ASSETS "/write_parquet.py")
EXPC_ASSET(parquetTextsScript, EXPC_ASSETS "/parquet_texts.py")
EXPC_ASSET(estimates, EXPC_ASSETS "/estimates.vl.json")
EXPC_ASSET(heatMap, EXPC_ASSETS "/heat_map.vl.json")
EXPC_ASSET(curves, EXPC_ASSETS "/curves.vl.json")
EXPC_ASSET(scatter, EXPC_ASSETS "/scatter.vl.json")
EXPC_ASSET(profile, EXPC_ASSETS "/profile.vl.json")

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Null: the study says nothing of it.
const Value* said(llvm::StringRef name, const Object& study) {
  const auto [outer, inner] = name.split('.');
  const Value* value = study.get(outer);
  if (inner.empty() || !value) return value;
  const Object* object = value->getAsObject();
  return object ? said(inner, *object) : nullptr;
}

std::optional<Value> filledText(llvm::StringRef text, const Object& study) {
  std::string out;
  for (size_t hole; (hole = text.find("${")) != llvm::StringRef::npos;) {
    const size_t end = text.find('}', hole);
    const Value* value = said(text.slice(hole + 2, end), study);
    if (!value) return std::nullopt;
    if (hole == 0 && end + 1 == text.size() && out.empty()) return *value;
    out += text.take_front(hole);
    const auto words = value->getAsString();
    out += words ? words->str() : base::canonicalJson(*value);
    text = text.drop_front(end + 1);
  }
  return Value(out + text.str());
}

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
  if (const auto asked = members->getString("if")) {
    const Value* value = said(*asked, study);
    if (!value || value->getAsBoolean() == false) {
      const Value* other = members->get("else");
      return other ? filledPart(*other, study) : std::nullopt;
    }
  }
  Object out;
  for (const auto& [name, member] : *members)
    if (name != "if" && name != "else")
      if (auto value = filledPart(member, study)) out[name] = std::move(*value);
  return out;
}

}  // namespace

Object filled(std::string_view file, const Object& study) {
  return std::move(*filledPart(llvm::cantFail(base::parseJson(file)), study)->getAsObject());
}

}  // namespace expc::report
