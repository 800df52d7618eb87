#include "runtime/bundle/anonymous.h"

#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <map>

namespace expc::bundle {
namespace {

/// Cards have numbers of their own, as people do: "GPU-8f3c…" becomes "GPU-1" wherever that card is named.
std::string hideCards(std::string text) {
  constexpr size_t kNumber = 36;
  std::map<std::string, std::string> stand_ins;
  for (size_t at = 0; (at = text.find("GPU-", at)) != std::string::npos; at += 4) {
    size_t end = at + 4;
    while (end < text.size() && (std::isxdigit(static_cast<unsigned char>(text[end])) || text[end] == '-')) ++end;
    if (end - at - 4 != kNumber) continue;
    const std::string card = text.substr(at, end - at);
    const auto [stand_in, fresh] = stand_ins.try_emplace(card, "GPU-" + std::to_string(stand_ins.size() + 1));
    text.replace(at, card.size(), stand_in->second);
  }
  return text;
}

}  // namespace

void Anonymous::hide(const std::string& text, std::string stand_in) {
  if (text.size() > 1) hidden_.emplace_back(text, std::move(stand_in));
}

void Anonymous::hideOwn() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const char* home = std::getenv("HOME");
  const passwd* user = getpwuid(getuid());
  hide(home ? home : "", "/home/someone");
  hide(host, "host");
  if (user && std::string(user->pw_name) != "root") hide(user->pw_name, "someone");
}

std::string Anonymous::apply(std::string text) const {
  for (const auto& [hidden, stand_in] : hidden_)
    for (size_t at = 0; (at = text.find(hidden, at)) != std::string::npos; at += stand_in.size())
      text.replace(at, hidden.size(), stand_in);
  return hideCards(std::move(text));
}

void Anonymous::apply(store::Session& session) const {
  session.host = apply(session.host);
  session.boot_id = "boot";
  session.environment_json = apply(session.environment_json);
}

void Anonymous::apply(store::Trial& trial) const {
  trial.reason = apply(trial.reason);
  trial.log_tail = apply(trial.log_tail);
  trial.devices = apply(trial.devices);
  trial.environment_json = apply(trial.environment_json);
  for (std::string& note : trial.notes) note = apply(note);
}

std::string Anonymous::leftIn(const std::string& text) const {
  for (const auto& [hidden, stand_in] : hidden_)
    if (text.find(hidden) != std::string::npos) return hidden;
  return "";
}

}  // namespace expc::bundle
