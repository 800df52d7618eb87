#pragma once

// Hides who measured and where. Records are hidden field by field (hosts, boots, cards); texts are searched for the
// same names, word by word; and at the end everything that was written is searched for names that are left. That
// last search is the promise: a bundle that still holds a name is not written.

#include <llvm/Support/JSON.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/llvm.h"
#include "runtime/store/records.h"

namespace expc::bundle {

/// A set of words of letters and digits, compared without case.
class Words {
 public:
  /// Adds the words of a text.
  void add(StringRef text);
  /// Adds the keys of a JSON value, and the words of members whose values come from a fixed list.
  void addKeys(const json::Value& value);
  /// Whether a name is one of these words, so that finding it tells nothing.
  bool hold(StringRef name) const { return words_.count(name.lower()) != 0; }

 private:
  std::set<std::string> words_;
};

/// The names to hide, collected from the results of one study, and their stand-ins. Equal names have equal
/// stand-ins in the whole bundle, so records still show which trials shared a host. Const functions are safe from
/// several threads.
class Anonymous {
 public:
  /// Collects the hosts, users, home folders, boots, cards and addresses that the results name, those of this
  /// process, and the folders of the study and its results. `own`: words that every bundle has.
  Anonymous(const Results& results, const std::string& study, const std::string& folder, Words own);

  /// Hide names in a record, in place.
  void apply(store::Session& session) const;
  void apply(Trial& trial) const;

  /// Searches every file below `folder`, and the files' names. The error lists the files that still hold a name. A
  /// name that is also a word of the files' own formats cannot be searched for: it is added to `unsought`.
  Error search(const std::string& folder, std::set<std::string>& unsought) const;

 private:
  /// The stand-in of a name, and its kind for messages.
  struct Name {
    std::string stand_in;
    const char* what;  // "a host"
  };

  void add(StringRef text, std::string stand_in, const char* what);
  void addHost(StringRef name);
  void addBoot(StringRef id);
  void addOwn();
  /// Adds home folders that a path or a text names, and their users.
  void addHomes(StringRef text);
  void addAddresses(StringRef text);
  void collect(const json::Value& value, StringRef key);
  /// A name in a text. `name` is null where there is none.
  struct Found {
    const std::pair<const std::string, Name>* name = nullptr;
    size_t size = 0;  // of the text; larger than the name's if a list of hosts follows it
  };
  /// The longest name that is a word, or begins a path, at position `at` of a folded text.
  Found nameAt(std::string_view text, size_t at) const;
  /// "'node7', a host": the first name in the text that `sought` accepts; "" if there is none.
  std::string nameIn(StringRef text, function_ref<bool(StringRef)> sought) const;
  /// The text with every name replaced by its stand-in.
  std::string hidden(StringRef text) const;
  /// The stand-in of a whole text; `otherwise` if it is not a known name.
  std::string standIn(StringRef text, const char* otherwise) const;
  /// Hides a JSON value in place; `key` is the member that holds it.
  void hide(json::Value& value, StringRef key) const;
  std::string hiddenJson(const std::string& text) const;

  std::map<std::string, Name, std::greater<>> names_;  // folded; descending: a longer name before its beginnings
  // Words of the formats themselves, which are not hidden.
  Words own_;
  unsigned hosts_ = 0, boots_ = 0, cards_ = 0;
};

}  // namespace expc::bundle
