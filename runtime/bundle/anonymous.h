#pragma once

// What in records tells who measured and where, and what stands in for it.

#include <string>
#include <utility>
#include <vector>

#include "runtime/store/records.h"

namespace expc::bundle {

class Anonymous {
 public:
  /// Replaces a text wherever it stands; "" and single characters are passed over. The first that was added goes first.
  void hide(const std::string& text, std::string stand_in);
  /// The home folder, the user's and this host's name, as the process knows them.
  void hideOwn();

  std::string apply(std::string text) const;
  void apply(store::Session& session) const;
  void apply(store::Trial& trial) const;

  /// The first of what is hidden that `text` still holds; "": none.
  std::string leftIn(const std::string& text) const;

 private:
  std::vector<std::pair<std::string, std::string>> hidden_;
};

}  // namespace expc::bundle
