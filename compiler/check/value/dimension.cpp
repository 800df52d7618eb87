// Arithmetic and names of dimensions. Watt is the one derived dimension with a name: energy per time.

#include "compiler/check/value/dimension.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "compiler/parse/words.h"

namespace expc::check {
namespace {

/// Energy / Time, whose unit is written W.
Dimension power() { return *Dimension::of(Dimension::Energy).over(Dimension::of(Dimension::Time)); }

// In the order of Dimension::Base.
constexpr std::array<std::string_view, Dimension::kBases> kTypeNames = {"Time",   "Bytes",  "Pixels",    "Images",
                                                                        "Tokens", "Energy", "Operations"};
constexpr std::array<std::string_view, Dimension::kBases> kBaseUnits = {"s", "B", "px", "img", "tok", "J", "FLOP"};

/// "a b / c" from one name for each base; "1" stands for an empty numerator.
std::string compose(const Dimension& dimension, const std::array<std::string_view, Dimension::kBases>& names,
                    std::string_view slash, std::string_view times) {
  std::string above, below;
  const auto add = [&](std::string_view name, int power) {
    for (int n = 0; n < power; ++n) {
      if (!above.empty()) above.append(times);
      above.append(name);
    }
    for (int n = 0; n < -power; ++n) below.append(slash).append(name);
  };
  for (size_t i = 0; i < names.size(); ++i) add(names[i], dimension.powers[i]);
  if (dimension.own)
    for (const auto& [name, power] : *dimension.own) add(name, power);
  if (above.empty()) above.push_back('1');
  return above + below;
}

/// The one object of these powers. Kept until the process ends, since dimensions hold it by pointer; there are
/// only as many as files declare units.
const Dimension::Own* interned(Dimension::Own powers) {
  std::erase_if(powers, [](const auto& power) { return power.second == 0; });
  if (powers.empty()) return nullptr;
  static std::mutex mutex;
  static std::set<Dimension::Own> all;
  const std::lock_guard lock(mutex);
  return &*all.insert(std::move(powers)).first;
}

}  // namespace

Dimension Dimension::ofOwn(std::string_view unit) {
  Dimension result;
  result.own = interned({{std::string(unit), 1}});
  return result;
}

Dimension Dimension::of(Base base) {
  Dimension result;
  result.powers[base] = 1;
  return result;
}

bool Dimension::isPure() const {
  return !own && std::ranges::all_of(powers, [](int8_t p) { return p == 0; });
}

std::string Dimension::typeName() const {
  if (flavor == Flavor::Ratio) return "Ratio";
  if (flavor == Flavor::Share) return "Share";
  if (isPure()) return "number";
  // The one product of powers that has a name of its own.
  if (*this == power()) return "Power";
  return compose(*this, kTypeNames, " / ", " * ");
}

std::string Dimension::planName() const {
  std::string text = typeName();
  // Plans have the same words without blanks, in lower case.
  std::erase(text, ' ');
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return text;
}

std::string Dimension::baseUnit() const {
  if (flavor == Flavor::Ratio) return "x";
  if (isPure()) return "";
  if (*this == power()) return "W";
  return compose(*this, kBaseUnits, "/", "*");
}

/// Adds (`sign` 1) or subtracts (-1) powers, and decides the flavor of a pure result.
static std::optional<Dimension> combine(const Dimension& left, const Dimension& right, int sign) {
  Dimension result;
  for (size_t i = 0; i < Dimension::kBases; ++i) {
    int power = left.powers[i] + sign * right.powers[i];
    // A limit that no real quantity reaches keeps powers within a byte.
    if (power > 9 || power < -9) return std::nullopt;
    result.powers[i] = int8_t(power);
  }
  if (left.own || right.own) {
    Dimension::Own powers = left.own ? *left.own : Dimension::Own{};
    if (right.own)
      for (const auto& [name, power] : *right.own) powers[name] += sign * power;
    for (const auto& [name, power] : powers)
      if (power > 9 || power < -9) return std::nullopt;
    result.own = interned(std::move(powers));
  }
  if (!result.isPure()) return result;
  using Flavor = Dimension::Flavor;
  // The flavor of a pure result: a quotient of two quantities is a plain number; a scaled ratio stays a ratio;
  // a quotient of two ratios is a number. A ratio times a share has no meaning.
  if (!left.isPure() || !right.isPure()) return result;
  if (left.flavor == right.flavor) {
    result.flavor = sign > 0 ? left.flavor : Flavor::Plain;
  } else if (right.flavor == Flavor::Plain) {
    result.flavor = left.flavor;
  } else if (left.flavor == Flavor::Plain && sign > 0) {
    result.flavor = right.flavor;
  } else if (left.flavor != Flavor::Plain) {
    return std::nullopt;
  }
  return result;
}

std::optional<Dimension> Dimension::times(const Dimension& other) const { return combine(*this, other, 1); }
std::optional<Dimension> Dimension::over(const Dimension& other) const { return combine(*this, other, -1); }

std::optional<Unit> findUnit(std::string_view text, const UnitSource& declared) {
  if (text.empty()) return Unit{};
  std::optional<Unit> result;
  // "GB/s/img": the first part is the numerator, every later one divides.
  while (true) {
    size_t slash = text.find('/');
    std::string_view part = text.substr(0, slash);
    std::optional<Unit> found;
    if (const words::Unit* built_in = words::findUnit(part))
      found = Unit{*findDimension(built_in->type), *Rational::make(built_in->above, built_in->below)};
    else if (declared)
      found = declared(part);
    if (!found) return std::nullopt;
    if (!result) {
      result = found;
    } else {
      auto dimension = result->dimension.over(found->dimension);
      auto scale = result->scale / found->scale;
      if (!dimension || !scale) return std::nullopt;
      result = Unit{*dimension, *scale};
    }
    if (slash == std::string_view::npos) return result;
    text.remove_prefix(slash + 1);
  }
}

std::optional<Dimension> findDimension(std::string_view type_name) {
  if (const auto base = std::ranges::find(kTypeNames, type_name); base != kTypeNames.end())
    return Dimension::of(static_cast<Dimension::Base>(base - kTypeNames.begin()));
  if (type_name == "Power") return power();
  if (type_name == "Ratio") return Dimension::ratio();
  if (type_name == "Share") return Dimension::share();
  return std::nullopt;
}

}  // namespace expc::check
