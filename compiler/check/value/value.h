#pragma once

// Types and constants of the language. A Type says what a parameter or expression may be; a Value is an exact
// constant in base units. Both refer to enumerations by pointer, which their Program owns.

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/check/value/dimension.h"
#include "compiler/check/value/rational.h"
#include "compiler/diag/source.h"

namespace expc::check {

struct EnumType;
struct CompositeType;

/// The type of an expression or a parameter. Ranges of allowed values (`in 1..64`) are no part of it; they
/// stand beside it, on the parameter. Error is the type of what was refused; it agrees with everything, so that
/// one mistake is reported once.
struct Type {
  enum class Kind { Error, Bool, Number, String, Path, Enum, List, Tuple, Record };
  Kind kind = Kind::Error;
  /// Number: `int`, only whole values.
  bool whole = false;
  /// Number
  Dimension dimension = {};
  /// Enum; owned by the program.
  const EnumType* enumeration = nullptr;
  /// List, Tuple, Record; shared, since types are copied often.
  std::shared_ptr<const CompositeType> composite = nullptr;

  static Type error() { return {}; }
  static Type boolean() { return {Kind::Bool}; }
  static Type number(Dimension dimension = {}) { return {Kind::Number, false, dimension}; }
  static Type integer() { return {Kind::Number, true}; }
  static Type string() { return {Kind::String}; }
  static Type path() { return {Kind::Path}; }
  static Type of(const EnumType& enumeration) { return {Kind::Enum, false, {}, &enumeration}; }

  static Type list(Type element);
  static Type tuple(std::vector<Type> parts);
  static Type record(std::vector<std::string> fields, std::vector<Type> parts);

  bool isError() const { return kind == Kind::Error; }
  bool isNumber() const { return kind == Kind::Number; }
  bool isEnum() const { return kind == Kind::Enum; }
  /// Whether values of the two types can be compared and assigned. `int` and `float` can, a string and a path
  /// too; a Ratio and a Share cannot.
  bool agreesWith(const Type& other) const;
  /// The way a user writes it: "int", "float", "Pixels", "precision".
  std::string name() const;
};

/// The parts of a list (one, that of its elements), a tuple or a record.
struct CompositeType {
  /// Record: the name of each part; else empty.
  std::vector<std::string> fields;
  std::vector<Type> parts;
};

/// An enumeration. Two are equal only if they are one object. Levels may carry a payload (`mnist(path)`).
struct EnumType {
  struct Field {
    std::string name;  // "" if it has none
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

  /// The index of a level, or -1.
  int find(std::string_view level) const;
};

struct Value;
/// A level with its payload.
struct EnumValue {
  const EnumType* type = nullptr;
  unsigned level = 0;
  std::vector<Value> payload;
  bool operator==(const EnumValue& other) const;
};

/// A list, a tuple or a record.
struct CompositeValue {
  Type::Kind kind = Type::Kind::List;
  /// Record: the name of each part; else empty.
  std::vector<std::string> fields;
  std::vector<Value> parts;
  bool operator==(const CompositeValue& other) const;
};

/// An exact constant in base units. Strings stand for paths too: the type tells them apart.
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

  /// The number, or null if it is something else; a bool, which it must be.
  const Rational* asNumber() const;
  bool asBool() const { return std::get<bool>(node); }
  bool operator==(const Value& other) const;

  /// For people: "300px", "fp32", "mnist(\"data\")".
  std::string toString() const;
};

}  // namespace expc::check
