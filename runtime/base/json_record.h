#pragma once

// Records whose fields are described once, by a function `describe(io, value)` that reads or writes them, as with
// LLVM's MappingTraits. So everything that is written is read in the same way.

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <boost/preprocessor/punctuation/comma_if.hpp>
#include <boost/preprocessor/seq/for_each_i.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/word.h"

/// Members of a record as names and values in turn: EXPC_NAMED(one, low, high) is `"low", one.low, "high", one.high`.
/// So a member that is written under its own name is named once; renaming it renames the field.
#define EXPC_NAMED(record, ...) BOOST_PP_SEQ_FOR_EACH_I(EXPC_NAMED_ONE, record, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))
#define EXPC_NAMED_ONE(r, record, index, member) BOOST_PP_COMMA_IF(index) BOOST_PP_STRINGIZE(member), record.member

namespace expc::base {

/// The largest number that every JSON reader keeps exactly (2^53).
inline constexpr int64_t kMostJsonId = int64_t(1) << 53;

class JsonRecord;
// Hides the namespace expc::describe, so that the name below is a function of the value's own namespace.
void describe() = delete;
/// Calls the `describe` function of a value's own type.
inline constexpr auto kDescribed = [](auto& io, auto& value) { describe(io, value); };

/// One object of a document, being read or written. Reading is strict: a field that is missing, of another type or
/// not described is an error with its path. It leaves a neutral value, so that a description reads on, and its
/// caller asks the JsonErrors at the end.
class JsonRecord {
 public:
  using Key = StringRef;  // a name that lives as long as what is written

  /// Reads `value`. All three must outlive this object.
  JsonRecord(JsonErrors& errors, const json::Value& value, const JsonPath& at);
  /// Writes; `out` has the result.
  JsonRecord() = default;

  /// Whether this object reads; otherwise it writes.
  bool reads() const { return errors_ != nullptr; }
  /// The value of a field that is read, for fields with a form of their own; null if the field is not there. The
  /// field counts as known (refuseOthers).
  const json::Value* in(Key key);
  /// Calls `read` for each element of an array field, until an error.
  void each(Key key, function_ref<void(const json::Value&, const JsonPath&)> read);
  /// The object that is being written.
  json::Object& out() { return out_; }
  /// Whether there was an error so far.
  bool failed() const { return errors_ && errors_->any(); }

  // Required fields, by type.
  void field(Key key, std::string& text);
  void field(Key key, bool& truth);
  void field(Key key, double& number);
  /// A measured number, which need not be finite (jsonNumber).
  void measured(Key key, double& number);
  /// A whole number that is not negative, between `low` and `high`; an int64_t is at most kMostJsonId.
  template <std::integral T>
  void field(Key key, T& number, std::type_identity_t<T> low = 0,
             std::type_identity_t<T> high = std::same_as<T, int64_t> ? T(kMostJsonId) : std::numeric_limits<T>::max()) {
    if (reads())
      number = static_cast<T>(whole(key, uint64_t(low), uint64_t(high)));
    else
      out_[key] = number;
  }
  void field(Key key, json::Object& object);
  void field(Key key, json::Value& value);
  void field(Key key, std::vector<std::string>& texts);
  void field(Key key, std::vector<std::vector<std::string>>& lists);
  void field(Key key, std::vector<unsigned>& numbers);
  void field(Key key, std::vector<int>& numbers, int low = 1);
  /// Measured numbers; an element that is not a number is read as NaN.
  void field(Key key, std::vector<double>& numbers);
  void field(Key key, std::set<std::string>& texts);
  template <typename T>
  void field(Key key, std::map<std::string, T>& items) {
    byName(key, items, [](JsonRecord& io, Key name, T& item) { io.field(name, item); });
  }
  template <typename T, size_t N>
  void word(Key key, T& value, const Word<T> (&table)[N]) {
    StringRef texts[N];
    std::ranges::transform(table, texts, [](const Word<T>& word) -> StringRef { return word.text; });
    if (reads())
      value = table[wordIndex(key, texts)].value;
    else
      out_[key] = wordOf(table, value);
  }

  /// For a field that may be left out: when reading, whether it is there and not null; when writing, `written`.
  bool has(Key key, bool written);
  /// A field that is left out if it equals `otherwise`.
  template <typename T>
  void optional(Key key, T& value, const std::type_identity_t<T>& otherwise) {
    if (has(key, !(value == otherwise))) any<Numbers::Finite>(key, value);
  }
  /// A field that is left out if it is empty, or has the first value of its type.
  template <typename T>
  void optional(Key key, T& value) {
    if constexpr (requires { value.empty(); }) {
      if (has(key, !value.empty())) any<Numbers::Finite>(key, value);
    } else {
      optional(key, value, T{});
    }
  }
  template <typename T>
  void optional(Key key, std::optional<T>& value) {
    if (!has(key, value.has_value())) return;
    if (reads()) value.emplace();
    any<Numbers::Finite>(key, *value);
  }
  /// Several of these, as names and values in turn.
  template <typename T, typename... Rest>
    requires(sizeof...(Rest) > 1)
  void optional(Key key, T& value, Rest&... rest) {
    optional(key, value);
    optional(rest...);
  }

  /// Required fields, as names and values in turn, each by its type: an enumerator has the word of its table
  /// (`wordsOf`), a record its own `describe`, and lists and maps hold any of these. An optional value that is absent
  /// is null.
  template <typename T, typename... Rest>
  void required(Key key, T& value, Rest&... rest) {
    any<Numbers::Finite>(key, value);
    if constexpr (sizeof...(rest) > 0) required(rest...);
  }
  /// Required fields of a result that programs read, whose numbers need not be finite (jsonNumber).
  template <typename T, typename... Rest>
  void fields(Key key, T&& value, Rest&&... rest) {
    any<Numbers::Measured>(key, const_cast<std::remove_cvref_t<T>&>(value));  // writing changes nothing
    if constexpr (sizeof...(rest) > 0) fields(rest...);
  }
  /// Such fields, each of which is left out if it is absent; it may be present and null.
  template <typename T, typename... Rest>
  void present(Key key, T& value, Rest&... rest) {
    if (reads() ? in(key) != nullptr : value.has_value()) {
      if (reads()) const_cast<std::remove_const_t<T>&>(value).emplace();
      fields(key, *value);
    }
    if constexpr (sizeof...(rest) > 0) present(rest...);
  }

  /// A field that is an object of its own, described by `describe`.
  template <typename T, typename Describe>
  void object(Key key, T& value, Describe describe) {
    if (!reads()) {
      out_[key] = written(value, describe);
    } else if (const json::Value* found = in(key)) {
      readOne(*found, JsonPath{at_, key, std::nullopt}, value, describe);
    } else {
      fail(key, "missing, expected an object");
    }
  }
  /// A field that is an array of objects.
  template <typename T, typename Describe>
  void list(Key key, std::vector<T>& items, Describe describe) {
    if (reads())
      return each(key, [&](const json::Value& item, const JsonPath& at) {
        T value{};
        readOne(item, at, value, describe);
        items.push_back(std::move(value));
      });
    json::Array array;
    array.reserve(items.size());
    for (T& item : items) array.push_back(written(item, describe));
    out_[key] = std::move(array);
  }
  /// A field that is an object with one member per item, which `each` describes.
  template <typename T, typename Each>
  void byName(Key key, std::map<std::string, T>& items, Each each) {
    if (!reads()) {
      json::Object object;
      for (auto& [name, item] : items) {
        JsonRecord one;
        each(one, "", item);
        object[jsonText(name).getAsString()->str()] = std::move(one.out_[""]);
      }
      out_[key] = std::move(object);
    } else if (const json::Value* found = in(key)) {
      const JsonPath here{at_, key, std::nullopt};
      JsonRecord members(*errors_, *found, here);
      for (const StringRef name : members.names()) each(members, name, items[name.str()]);
    } else {
      fail(key, "missing, expected an object");
    }
  }

  /// To be called last when reading: a member that the description did not ask for is an error (a newer schema, a
  /// typing error).
  void refuseOthers();

  /// Notes an error at a field, at the whole, or at a place inside of what is read. Does nothing when writing, so a
  /// description can check its values in both directions.
  void fail(StringRef key, const llvm::Twine& message) { failAt(JsonPath{at_, key, std::nullopt}, message); }
  void fail(const llvm::Twine& message) {
    if (reads()) failAt(*at_, message);
  }
  void failAt(const JsonPath& at, const llvm::Twine& message) {
    if (reads()) errors_->add(at, message);
  }

  /// Reads a value that `each` gave, as an object.
  template <typename T, typename Describe>
  void readOne(const json::Value& from, const JsonPath& at, T& value, Describe describe) {
    JsonRecord io(*errors_, from, at);
    describe(io, value);
    io.refuseOthers();
  }

  template <typename T, typename Describe>
  static json::Object written(const T& value, Describe describe) {
    JsonRecord io;
    describe(io, const_cast<T&>(value));  // writing changes nothing
    return std::move(io.out_);
  }

 private:
  enum class Numbers { Finite, Measured };

  /// The result of `get` for a field; an empty one, with an error noted, if the field is missing or of another type.
  template <typename Get>
  auto found(Key key, StringRef expected, Get get) {
    const json::Value* value = in(key);
    if (!value) fail(key, "missing, expected " + expected);
    auto result = value ? get(*value) : decltype(get(*value)){};
    if (value && !result) fail(key, "expected " + expected + ", found " + kindName(*value));
    return result;
  }
  /// Writes or reads one field by its type. A list or a map goes item by item, each as the one field, without a name,
  /// of a record.
  template <Numbers numbers, typename T>
  void any(Key key, T& value) {
    // The order matters: a text is a list of characters, and a map has a `field` for items of simple types alone.
    if constexpr (std::same_as<T, double> && numbers == Numbers::Measured) {
      measured(key, value);
    } else if constexpr (std::is_enum_v<T>) {
      word(key, value, wordsOf(value));
    } else if constexpr (requires { describe(*this, value); }) {
      object(key, value, kDescribed);
    } else if constexpr (requires { value.has_value(); }) {
      if (reads() && has(key, false))
        any<numbers>(key, value.emplace());
      else if (!reads() && value)
        any<numbers>(key, *value);
      else if (!reads())
        out_[key] = nullptr;
    } else if constexpr (requires { anyByName<numbers>(key, value); }) {
      anyByName<numbers>(key, value);
    } else if constexpr (requires { field(key, value); }) {
      field(key, value);
    } else {
      anyList<numbers>(key, value);
    }
  }
  template <Numbers numbers, typename T>
  void anyList(Key key, std::vector<T>& items) {
    if (reads())
      return each(key, [&](const json::Value& item, const JsonPath& at) {
        const json::Value alone = json::Object{{"", item}};
        JsonRecord(*errors_, alone, at).any<numbers>("", items.emplace_back());
      });
    json::Array array;
    for (T& item : items) {
      JsonRecord one;
      one.any<numbers>("", item);
      array.push_back(std::move(one.out_[""]));
    }
    out_[key] = std::move(array);
  }
  template <Numbers numbers, typename K, typename T>
  void anyByName(Key key, std::map<K, T>& items) {
    const auto item = [](JsonRecord& io, Key name, T& one) { io.any<numbers>(name, one); };
    if constexpr (std::is_enum_v<K>) {
      std::map<std::string, T> named;
      for (auto& [kind, one] : items) named.emplace(wordOf(wordsOf(kind), kind), one);
      byName(key, named, item);
      if (reads())
        for (auto& [name, one] : named) items[valueOf(wordsOf(K{}), name).value_or(K{})] = one;
    } else {
      byName(key, items, item);
    }
  }
  uint64_t whole(Key key, uint64_t low, uint64_t high);
  std::vector<StringRef> names() const;
  unsigned wordIndex(Key key, ArrayRef<StringRef> words);

  JsonErrors* errors_ = nullptr;
  const JsonPath* at_ = nullptr;
  const json::Object* in_ = nullptr;
  // Fields that the description asked for.
  llvm::SmallVector<StringRef, 24> asked_;
  json::Object out_;
};

template <typename T>
json::Object written(const T& value) {
  return JsonRecord::written(value, kDescribed);
}

/// An object for programs, from names and values in turn, as JsonRecord::fields writes them.
json::Object record(const auto&... fields) {
  JsonRecord io;
  io.fields(fields...);
  return std::move(io.out());
}

/// Reads a whole document. `what` stands before an error: "the plan".
template <typename T, typename Describe = std::remove_cv_t<decltype(kDescribed)>>
Expected<T> readRecord(const json::Value& value, StringRef what, Describe describe = {}) {
  JsonErrors errors;
  const JsonPath root;
  JsonRecord io(errors, value, root);
  T result{};
  describe(io, result);
  io.refuseOthers();
  if (errors.any()) return errors.take(what);
  return result;
}

}  // namespace expc::base

namespace expc {
using base::JsonRecord;
}
