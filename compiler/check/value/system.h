#pragma once

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/value/value.h"
#include "compiler/source/source.h"

namespace expc::check {

/// What can be said about a machine: `gpus`, `gpu.memory`, …, in the order of the table of words.
struct SystemProperty {
  std::string_view name;
  Type type;
};
const std::vector<SystemProperty>& systemProperties();
/// Index of the property called `name`, or -1.
int findSystemProperty(std::string_view name);

/// A machine: what is known of it. Values by index into systemProperties(); nothing where it is not known.
struct System {
  std::string name, doc;
  std::vector<std::optional<Value>> values;
  source::Range range;

  /// A machine of which nothing is known.
  static System unknown(std::string name);
  const std::optional<Value>& operator[](std::string_view property) const;
  void set(std::string_view property, Value value);
};

/// {"gpus":4,"gpu.memory":100931731456}: what is known of it, in base units.
llvm::json::Object toJson(const System& system);
/// The system called `name` of which this is known; what no property is, has another type, or is no
/// whole number above zero, is left out.
System systemFromJson(std::string name, const llvm::json::Object& object);

}  // namespace expc::check
