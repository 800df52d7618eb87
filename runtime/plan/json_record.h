#pragma once

// Records whose fields are described once, by a function that reads or writes them: `describe(io, value)`, as for
// LLVM's MappingTraits. What is written so is read so.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
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

#include "runtime/plan/json.h"
#include "runtime/plan/word.h"

namespace expc::plan {

/// The largest number that any JSON reader keeps.
inline constexpr int64_t kMostJsonId = int64_t(1) << 53;

/// One object of a document. Reading is strict: a field that is missing, of another type or not described is an error
/// with its path, and leaves a neutral value, so that a caller reads on and asks the JsonErrors at the end.
class JsonRecord {
 public:
  using Key = llvm::StringRef;  // a name that lives as long as what is written

  /// Reads `value`. All three live longer.
  JsonRecord(JsonErrors& errors, const llvm::json::Value& value, const JsonPath& at);
  /// Writes.
  JsonRecord() = default;

  bool reads() const { return errors_ != nullptr; }
  /// What is read, for what has a form of its own: null where there is no such field.
  const llvm::json::Value* in(Key key);
  /// Calls `read` for each element of an array that is read.
  void each(Key key, llvm::function_ref<void(const llvm::json::Value&, const JsonPath&)> read);
  /// What was written.
  llvm::json::Object& out() { return out_; }
  /// Whether something was wrong so far.
  bool failed() const { return errors_ && errors_->any(); }

  void field(Key key, std::string& text);
  void field(Key key, bool& truth);
  void field(Key key, double& number);
  /// Reads or writes a measured number, which need not be finite: as jsonNumber writes it.
  void measured(Key key, double& number);
  /// A whole number that is not negative; of signed ones of 64 bits up to kMostJsonId.
  template <std::integral T>
  void field(Key key, T& number, std::type_identity_t<T> low = 0,
             std::type_identity_t<T> high = std::same_as<T, int64_t> ? T(kMostJsonId) : std::numeric_limits<T>::max()) {
    if (reads())
      number = static_cast<T>(whole(key, static_cast<uint64_t>(low), static_cast<uint64_t>(high)));
    else
      out_[key] = number;
  }
  void field(Key key, llvm::json::Object& object);
  void field(Key key, llvm::json::Value& value);
  void field(Key key, std::vector<std::string>& texts);
  void field(Key key, std::vector<std::vector<std::string>>& lists);
  void field(Key key, std::vector<unsigned>& numbers);
  void field(Key key, std::vector<int>& numbers, int low = 1);
  /// Measured numbers; an element that is none is read as NaN.
  void field(Key key, std::vector<double>& numbers);
  void field(Key key, std::set<std::string>& texts);
  template <typename T>
  void field(Key key, std::map<std::string, T>& items) {
    byName(key, items, [](JsonRecord& io, Key name, T& item) { io.field(name, item); });
  }
  template <typename T, size_t N>
  void word(Key key, T& value, const Word<T> (&table)[N]) {
    llvm::StringRef texts[N];
    std::ranges::transform(table, texts, [](const Word<T>& word) -> llvm::StringRef { return word.text; });
    if (reads())
      value = table[wordIndex(key, texts)].value;
    else
      out_[key] = wordOf(table, value);
  }

  /// Whether a field is there, and not null, that may be left out; `written` where it is to be written.
  bool has(Key key, bool written);
  /// A field that is left out where it is as `otherwise`.
  template <typename T>
  void optional(Key key, T& value, const std::type_identity_t<T>& otherwise = {}) {
    if (has(key, !(value == otherwise))) field(key, value);
  }
  template <typename T>
  void optional(Key key, std::optional<T>& value) {
    if (!has(key, value.has_value())) return;
    if (reads()) value.emplace();
    field(key, *value);
  }

  template <typename T, typename Describe>
  void object(Key key, T& value, Describe describe) {
    if (!reads()) {
      out_[key] = written(value, describe);
    } else if (const llvm::json::Value* found = in(key)) {
      readOne(*found, JsonPath{at_, key, std::nullopt}, value, describe);
    } else {
      fail(key, "missing, expected an object");
    }
  }
  template <typename T, typename Describe>
  void optionalObject(Key key, std::optional<T>& value, Describe describe) {
    if (!has(key, value.has_value())) return;
    if (reads()) value.emplace();
    object(key, *value, describe);
  }
  /// An array of objects.
  template <typename T, typename Describe>
  void list(Key key, std::vector<T>& items, Describe describe) {
    if (reads())
      return each(key, [&](const llvm::json::Value& item, const JsonPath& at) {
        T value{};
        readOne(item, at, value, describe);
        items.push_back(std::move(value));
      });
    llvm::json::Array array;
    array.reserve(items.size());
    for (T& item : items) array.push_back(written(item, describe));
    out_[key] = std::move(array);
  }
  /// An object with a field for each item, which `each` describes.
  template <typename T, typename Each>
  void byName(Key key, std::map<std::string, T>& items, Each each) {
    if (!reads()) {
      llvm::json::Object object;
      for (auto& [name, item] : items) {
        JsonRecord one;
        each(one, "", item);
        object[jsonText(name).getAsString()->str()] = std::move(one.out_[""]);
      }
      out_[key] = std::move(object);
    } else if (const llvm::json::Value* found = in(key)) {
      const JsonPath here{at_, key, std::nullopt};
      JsonRecord members(*errors_, *found, here);
      for (const llvm::StringRef name : members.names()) each(members, name, items[name.str()]);
    } else {
      fail(key, "missing, expected an object");
    }
  }

  /// To be called last: a member that nothing asked for is an error (a newer schema, a slip of the pen).
  void refuseOthers();

  /// Notes what is wrong with a field, with the whole or at a place inside of what is read; nothing where it writes, so
  /// that a description checks what it has whichever it does.
  void fail(llvm::StringRef key, const llvm::Twine& message) { failAt(JsonPath{at_, key, std::nullopt}, message); }
  void fail(const llvm::Twine& message) {
    if (reads()) failAt(*at_, message);
  }
  void failAt(const JsonPath& at, const llvm::Twine& message) {
    if (reads()) errors_->add(at, message);
  }

  /// Reads a value that `each` gave, as an object.
  template <typename T, typename Describe>
  void readOne(const llvm::json::Value& from, const JsonPath& at, T& value, Describe describe) {
    JsonRecord io(*errors_, from, at);
    describe(io, value);
    io.refuseOthers();
  }

  template <typename T, typename Describe>
  static llvm::json::Object written(const T& value, Describe describe) {
    JsonRecord io;
    describe(io, const_cast<T&>(value));  // writing changes nothing
    return std::move(io.out_);
  }

 private:
  /// What `get` finds in a field; nothing after noting that the field is missing, or no such thing.
  template <typename Get>
  auto found(Key key, llvm::StringRef expected, Get get) {
    const llvm::json::Value* value = in(key);
    if (!value) fail(key, "missing, expected " + expected);
    auto result = value ? get(*value) : decltype(get(*value)){};
    if (value && !result) fail(key, "expected " + expected + ", found " + kindName(*value));
    return result;
  }
  uint64_t whole(Key key, uint64_t low, uint64_t high);
  std::vector<llvm::StringRef> names() const;
  unsigned wordIndex(Key key, llvm::ArrayRef<llvm::StringRef> words);

  JsonErrors* errors_ = nullptr;
  const JsonPath* at_ = nullptr;
  const llvm::json::Object* in_ = nullptr;
  llvm::SmallVector<llvm::StringRef, 24> asked_;
  llvm::json::Object out_;
};

/// The `describe` of a value's own type.
inline constexpr auto kDescribed = [](JsonRecord& io, auto& value) { describe(io, value); };

template <typename T>
llvm::json::Object written(const T& value) {
  return JsonRecord::written(value, kDescribed);
}

/// A whole document. `what` stands before an error: "the plan".
template <typename T, typename Describe = std::remove_cv_t<decltype(kDescribed)>>
llvm::Expected<T> readRecord(const llvm::json::Value& value, llvm::StringRef what, Describe describe = {}) {
  JsonErrors errors;
  const JsonPath root;
  JsonRecord io(errors, value, root);
  T result{};
  describe(io, result);
  io.refuseOthers();
  if (errors.any()) return errors.take(what);
  return result;
}

}  // namespace expc::plan
