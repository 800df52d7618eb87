#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/check/value/dimension.h"
#include "compiler/check/value/rational.h"
#include "compiler/source/source.h"

namespace expc::check {

struct EnumType;
struct CompositeType;

/// What an expression or a parameter is. Refinements stand beside the type, on the parameter.
struct Type {
  enum class Kind { Error, Bool, Number, String, Path, Enum, List, Tuple, Record };
  Kind kind = Kind::Error;
  bool whole = false;                                        // Number: `int`, only whole values
  Dimension dimension;                                       // Number
  const EnumType* enumeration = nullptr;                     // Enum
  std::shared_ptr<const CompositeType> composite = nullptr;  // List, Tuple, Record

  static Type error() { return {}; }
  static Type boolean() { return {Kind::Bool, false, {}, nullptr, nullptr}; }
  static Type number(Dimension dimension = {}) { return {Kind::Number, false, dimension, nullptr, nullptr}; }
  static Type integer() { return {Kind::Number, true, {}, nullptr, nullptr}; }
  static Type string() { return {Kind::String, false, {}, nullptr, nullptr}; }
  static Type path() { return {Kind::Path, false, {}, nullptr, nullptr}; }
  static Type of(const EnumType& enumeration) { return {Kind::Enum, false, {}, &enumeration, nullptr}; }

  static Type list(Type element);
  static Type tuple(std::vector<Type> parts);
  static Type record(std::vector<std::string> fields, std::vector<Type> parts);

  bool isError() const { return kind == Kind::Error; }
  /// Whether values of the two can be compared and assigned; `int` and `float` can, a Ratio and a Share cannot.
  bool agreesWith(const Type& other) const;
  /// As a user writes it: "int", "float", "Pixels", "precision".
  std::string name() const;
};

/// The parts of a list (one, its elements'), a tuple or a record.
struct CompositeType {
  std::vector<std::string> fields;  // Record: a name for each part
  std::vector<Type> parts;
};

/// An enumeration; levels may carry a payload (`mnist(path)`).
struct EnumType {
  struct Field {
    std::string name;  // may be ""
    Type type;
  };
  struct Level {
    std::string name;
    std::vector<Field> fields;
    source::Range range;
  };
  std::string name, doc;
  bool ordered = false;
  std::vector<Level> levels;
  source::Range range;

  /// Index of the level called `level`, or -1.
  int find(std::string_view level) const;
};

struct Value;
struct EnumValue {
  const EnumType* type = nullptr;
  unsigned level = 0;
  std::vector<Value> payload;
  bool operator==(const EnumValue& other) const;
};

/// A list, a tuple or a record.
struct CompositeValue {
  Type::Kind kind = Type::Kind::List;
  std::vector<std::string> fields;  // Record: a name for each part
  std::vector<Value> parts;
  bool operator==(const CompositeValue& other) const;
};

/// A constant: in base units, exact.
struct Value {
  struct Number {
    Rational value;
    Dimension dimension;
    bool operator==(const Number&) const = default;
  };
  std::variant<bool, Number, std::string, EnumValue, CompositeValue> node = false;

  static Value boolean(bool value) { return {value}; }
  static Value number(Rational value, Dimension dimension = {}) { return {Number{value, dimension}}; }
  static Value text(std::string value) { return {std::move(value)}; }
  static Value level(const EnumType& type, unsigned level, std::vector<Value> payload = {});

  const Rational* asNumber() const;
  bool asBool() const { return std::get<bool>(node); }
  bool operator==(const Value& other) const;

  /// For people: "300px", "fp32", "mnist(\"data\")".
  std::string toString() const;
};

}  // namespace expc::check
