#pragma once

// Who measured and where, as records name it, and what stands in for it. Records are hidden field by field; what is
// text is looked through for the same names, word by word; and at the end all that was written is searched for them.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/store/records.h"

namespace expc::bundle {

/// Words of letters and digits, whatever their case.
class Words {
 public:
  void add(llvm::StringRef text);
  /// The keys of JSON, and the words that stand behind those that have a fixed list of them.
  void addKeys(const llvm::json::Value& value);
  /// Whether the name is one of them, so that finding it tells nothing.
  bool hold(llvm::StringRef name) const { return words_.count(name.lower()) != 0; }

 private:
  std::set<std::string> words_;
};

class Anonymous {
 public:
  /// Takes up the hosts, users, home folders, boots, cards and addresses that the results know, those of this process,
  /// and the folders of the study and its results. `own`: words that every bundle has.
  Anonymous(const store::Results& results, const std::string& study, const std::string& folder, Words own);

  void apply(store::Session& session) const;
  void apply(store::Trial& trial) const;

  /// Looks through every file below `folder`, and their names. The error names the files that still hold a name. Names
  /// that are words of the files' own formats are not looked for: they come into `unsought`.
  llvm::Error search(const std::string& folder, std::set<std::string>& unsought) const;

 private:
  struct Name {
    std::string stand_in;
    const char* what;  // "a host"
  };

  void add(llvm::StringRef text, std::string stand_in, const char* what);
  void addHost(llvm::StringRef name);
  void addBoot(llvm::StringRef id);
  void addOwn();
  /// Home folders that a path or a text names, and with them their users.
  void addHomes(llvm::StringRef text);
  void addAddresses(llvm::StringRef text);
  void collect(const llvm::json::Value& value, llvm::StringRef key);
  struct Found {
    const std::pair<const std::string, Name>* name = nullptr;
    size_t size = 0;  // of the text; more than the name's where it begins a list of hosts
  };
  /// The longest name that is a word, or begins a path, at `at` of a folded text.
  Found nameAt(std::string_view text, size_t at) const;
  /// "'node7', a host": the first of the names that are sought; "" where there is none.
  std::string nameIn(llvm::StringRef text, llvm::function_ref<bool(llvm::StringRef)> sought) const;
  std::string hidden(llvm::StringRef text) const;
  std::string standIn(llvm::StringRef text, const char* otherwise) const;
  void hide(llvm::json::Value& value, llvm::StringRef key) const;
  std::string hiddenJson(const std::string& text) const;

  std::map<std::string, Name, std::greater<>> names_;  // folded; of two with one beginning the longer first
  Words own_;
  unsigned hosts_ = 0, boots_ = 0, cards_ = 0;
};

}  // namespace expc::bundle
