// A name is found in three steps: a text is decoded (escapes undone), folded (small letters, one separator), and
// compared with the sorted names at each beginning of a word. Hiding and the final search use the same steps, so
// that a name which the search would find has been hidden where it could be.

#include "runtime/bundle/anonymous.h"

#include <arpa/inet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/bundle/archive.h"

namespace expc::bundle {
namespace {

using json::Value;

constexpr const char *kHost = "a host", *kUser = "a user", *kFolder = "a folder", *kBoot = "a boot", *kCard = "a card",
                     *kAddress = "an address";
constexpr const char* kHome = "/home/someone";

/// Bytes of UTF-8 beyond ASCII count as letters: a name next to them is a part of a longer word.
bool isLetter(char letter) { return llvm::isAlnum(letter) || static_cast<unsigned char>(letter) >= 0x80; }

/// Whether values of this member stay as they are: words of a fixed list, and kinds of hardware and software,
/// without which measurements mean nothing.
bool isKind(StringRef key) {
  constexpr StringRef kKeys[] = {"device",  "launcher",   "kind",     "entry",     "status",
                                 "outcome", "verdict",    "schema",   "type",      "op",
                                 "unit",    "relation",   "better",   "estimator", "dimension",
                                 "os",      "gpu_driver", "governor", "cpu_model", "cuda_driver"};
  return is_contained(kKeys, key);
}

/// The address in a text, without the port behind it; "" if the text is not an address.
StringRef addressOf(StringRef text) {
  const StringRef whole = text.trim("[]"), front = text.split(':').first;
  in6_addr six{};
  in_addr four{};
  if (inet_pton(AF_INET, front.str().c_str(), &four) == 1) return front;
  return inet_pton(AF_INET6, whole.str().c_str(), &six) == 1 ? whole : "";
}

/// The character that an escape at the beginning of a text stands for (in URLs, JSON, shells and terminals), and
/// the escape's length. Length 0: no escape. Programs escape the names that they print, and a search must find them
/// all the same.
std::pair<char, size_t> escapeAt(StringRef text) {
  unsigned code = 0;
  const auto hex = [&](size_t from, size_t digits) {
    return text.size() >= from + digits && !text.substr(from, digits).getAsInteger(16, code) && code < 0x80;
  };
  if (text[0] == '%' && hex(1, 2)) return {char(code), 3};
  if (text.size() < 2) return {};
  if (text.starts_with("\x1b[")) {
    const size_t end = text.find_if([](char c) { return llvm::isAlpha(c); });
    return {' ', end == StringRef::npos ? 0 : end + 1};
  }
  if (text[0] != '\\') return {};
  if (text[1] == 'u' && hex(2, 4)) return {char(code), 6};
  if (text[1] == 'x' && hex(2, 2)) return {char(code), 4};
  if (StringRef("nrtbf").contains(text[1])) return {' ', 2};
  return {text[1], StringRef("/\"\\").contains(text[1]) ? 2 : 0};
}

/// A text without escapes; escapes inside escapes are undone too, up to 8 deep. `begins` leads from the decoded
/// text back to the original, so that only the names in it are replaced.
struct Decoded {
  std::string text;
  std::vector<size_t> begins;  // where each character begins in the original; the last is its end

  explicit Decoded(StringRef from) : text(from), begins(from.size() + 1) {
    std::iota(begins.begin(), begins.end(), size_t(0));
    constexpr int kMostDeep = 8;
    for (int deep = 0; deep < kMostDeep && undo(); ++deep) {
    }
  }

 private:
  // One round: every escape becomes one character, in place. True if there was any.
  bool undo() {
    size_t to = 0;
    for (size_t at = 0; at < text.size(); ++to) {
      const auto [letter, size] = escapeAt(StringRef(text).drop_front(at));
      begins[to] = begins[at];
      text[to] = size > 0 ? letter : text[at];
      at += std::max<size_t>(size, 1);
    }
    const bool any = to < text.size();
    begins[to] = begins.back();
    text.resize(to);
    begins.resize(to + 1);
    return any;
  }
};

/// A name in the form in which names are compared: in small letters, with '-' for '_' and '.', since caches and
/// sockets write a host's name with other signs.
std::string folded(StringRef text) {
  std::string out = text.lower();
  std::ranges::replace_if(out, [](char c) { return c == '_' || c == '.'; }, '-');
  return out;
}

/// The length of the rest of a Slurm host list after its opening bracket ("76-78]"), with the rest of the name
/// behind it; 0 if `text` does not begin with one.
size_t listSize(std::string_view text) {
  size_t size = 0;
  const auto take = [&](std::string_view those) {
    while (size < text.size() && those.find(text[size]) != std::string_view::npos) ++size;
    return size;
  };
  if (text.empty() || !llvm::isDigit(text[0])) return 0;
  take("0123456789,-");
  if (size < text.size() && (text[size] == ']' || text[size] == '}')) ++size;
  return take("abcdefghijklmnopqrstuvwxyz0123456789-");
}

/// The JSON value of a text from a record; null if it is not JSON.
Value parsed(const std::string& text) { return expectedToOptional(parseJson(text)).value_or(nullptr); }

}  // namespace

/// A word is a run of letters and digits, the same as in isLetter.
void Words::add(StringRef text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() && isLetter(text[at])) ++at;
    if (at > begin) words_.insert(text.slice(begin, at).lower());
    at += at == begin;
  }
}

void Words::addKeys(const Value& value) {
  if (const auto* array = value.getAsArray())
    for (const Value& element : *array) addKeys(element);
  if (const auto* object = value.getAsObject())
    for (const auto& [key, element] : *object) {
      add(key);
      if (const auto text = element.getAsString(); text && isKind(key)) add(*text);
      addKeys(element);
    }
}

/// Names are collected from all records before any is hidden: a log may name a host that only a later session has.
Anonymous::Anonymous(const Results& results, const std::string& study, const std::string& folder, Words own)
    : own_(std::move(own)) {
  addOwn();
  add(folder, "/results", kFolder);
  add(study, "/study", kFolder);
  for (const store::Session& session : results.sessions) {
    for (const std::string& node : session.where.nodes) addHost(node);
    for (const std::string& boot : session.where.boots) addBoot(boot);
    const Value environment = parsed(session.environment_json);
    own_.addKeys(environment);
    collect(environment, "");
  }
  for (const Trial& trial : results.trials) {
    for (const std::string* json : {&trial.devices, &trial.environment_json}) {
      const Value value = parsed(*json);
      own_.addKeys(value);
      collect(value, "");
    }
    std::vector<std::string> texts = {trial.reason, trial.log_tail};
    for (const plan::Note& note : trial.notes) texts.push_back(note.said);
    // Texts of programs are only searched for what looks like a home folder or an address; other names come from
    // records.
    for (const std::string& text : texts) {
      const Decoded decoded(text);
      addHomes(decoded.text), addAddresses(decoded.text);
    }
  }
}

void Anonymous::add(StringRef text, std::string stand_in, const char* what) {
  // These tell nobody from others: every machine has them.
  constexpr StringRef kNobody[] = {"root", "nobody", "/", "/root", "/tmp", "/home", "/Users"};
  if (!text.empty() && text != "localhost" && (what == kHost || !is_contained(kNobody, text)))
    names_.try_emplace(folded(text), Name{std::move(stand_in), what});
}

/// Adds a host's name, and the other forms in which programs write it: its first part, and Slurm lists that begin
/// with it (node-[1-4], node-1[6-8]). All have one stand-in, except lists, which name several hosts.
void Anonymous::addHost(StringRef name) {
  if (names_.count(folded(name))) return;
  // A host may really be called host1: its stand-in must differ from it.
  std::string stand_in;
  do stand_in = fmt::format("host{}", ++hosts_);
  while (name.equals_insensitive(stand_in));
  const bool is_address = !addressOf(name).empty();
  add(name, stand_in, is_address ? kAddress : kHost);
  if (is_address) return;
  // Slurm lists the last digits of names: node-1[6-8] stands for node-16 to node-18, so each digit may begin a
  // list.
  const StringRef brief = name.split('.').first;
  add(brief, stand_in, kHost);
  for (size_t at = 1; at < brief.size(); ++at)
    if (llvm::isDigit(brief[at]))
      for (const char* open : {"[", "{"}) add((brief.take_front(at) + open).str(), "hosts", kHost);
}

void Anonymous::addBoot(StringRef id) {
  if (!names_.count(folded(id))) add(id, fmt::format("boot{}", ++boots_), kBoot);
}

/// Adds the user, home folder and host of this process, which packs the bundle.
void Anonymous::addOwn() {
  const passwd* user = getpwuid(getuid());
  using Texts = std::initializer_list<const char*>;
  // The account and the environment may name different users.
  for (const char* name : Texts{user ? user->pw_name : nullptr, std::getenv("USER"), std::getenv("LOGNAME")})
    if (name) add(name, "someone", kUser);
  for (const char* home : Texts{user ? user->pw_dir : nullptr, std::getenv("HOME")})
    if (home) add(StringRef(home).rtrim('/'), kHome, kFolder);
  addHost(base::hostName());
}

void Anonymous::addHomes(StringRef text) {
  for (const StringRef above : {"/home/", "/Users/"})
    for (size_t at = text.find(above); at != StringRef::npos; at = text.find(above, at + 1)) {
      // Walks back to the path's beginning and forward to the user's end: /mnt/home/USER is hidden as a whole.
      size_t begin = at, end = at + above.size();
      while (begin > 0 && (isLetter(text[begin - 1]) || StringRef("/._-+").contains(text[begin - 1]))) --begin;
      while (end < text.size() && (isLetter(text[end]) || StringRef("._-").contains(text[end]))) ++end;
      const StringRef user = text.slice(at + above.size(), end);
      add(user, "someone", kUser);
      if (!user.empty()) add(text.slice(begin, end), kHome, kFolder);
    }
}

/// Adds addresses in the text of a program, except those of the machine itself. Elsewhere such a text may be a
/// version (1.2.3.4), so there only members named like addresses are looked at (collect).
void Anonymous::addAddresses(StringRef text) {
  while (!text.empty()) {
    const StringRef word = text.take_while([](char c) { return isLetter(c) || c == '.' || c == ':'; });
    const StringRef address = addressOf(word.trim(".:"));
    // 127.* and 0.0.0.0 are every machine's.
    if (!address.starts_with("127.") && address != "0.0.0.0") add(address, "address", kAddress);
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
}

/// Adds the names that a JSON value of a record holds, by the members that hold them.
void Anonymous::collect(const Value& value, StringRef key) {
  if (const auto* array = value.getAsArray())
    for (const Value& element : *array) collect(element, key);
  if (const auto* object = value.getAsObject())
    for (const auto& [name, element] : *object) collect(element, name);
  const auto text = value.getAsString();
  if (!text) return;
  if (key == "host" || key == "node") return addHost(*text);
  if (key == "boot_id") return addBoot(*text);
  if (key == "uuid" && !names_.count(folded(*text))) return add(*text, fmt::format("GPU-{}", ++cards_), kCard);
  addHomes(Decoded(*text).text);
  if (key.contains_insensitive("addr")) add(addressOf(*text), "address", kAddress);
}

Anonymous::Found Anonymous::nameAt(std::string_view text, size_t at) const {
  // In the middle of a word a name means nothing: "ann" in "channel".
  if (isLetter(text[at]) && at > 0 && isLetter(text[at - 1])) return {};
  const std::string_view rest = text.substr(at);
  // Names after `rest` in descending order are its possible beginnings; the longest comes first.
  for (auto name = names_.lower_bound(rest); name != names_.end() && name->first[0] == rest[0]; ++name) {
    const std::string_view found = name->first;
    if (!rest.starts_with(found)) continue;
    const bool list = found.back() == '[' || found.back() == '{';
    const size_t more = list ? listSize(rest.substr(found.size())) : 0;
    // A name that ends in a letter must end its word; one that ends otherwise ("/home/ann/") may be followed by
    // more.
    const bool ends = found.size() == rest.size() || !isLetter(rest[found.size()]) || !isLetter(found.back());
    if (list ? more > 0 : ends) return {&*name, found.size() + more};
  }
  return {};
}

std::string Anonymous::hidden(StringRef text) const {
  const Decoded decoded(text);
  const std::string small = folded(decoded.text);
  std::string out;
  for (size_t at = 0; at < small.size();) {
    const auto [name, size] = nameAt(small, at);
    // A common word that is also a host's name is hidden where a record names a host by it. In text of people and
    // programs it says nothing, unless a digit follows: "node7".
    const bool telling =
        name && (!own_.hold(name->first) || std::ranges::any_of(small.substr(at, size), llvm::isDigit));
    if (telling)
      out += name->second.stand_in;
    else
      out += text.slice(decoded.begins[at], decoded.begins[at + 1]);
    at += telling ? size : 1;
  }
  return out;
}

std::string Anonymous::standIn(StringRef text, const char* otherwise) const {
  const auto* name = entryOf(names_, folded(text));
  return name ? name->stand_in : otherwise;
}

void Anonymous::hide(Value& value, StringRef key) const {
  if (auto* array = value.getAsArray())
    for (Value& element : *array) hide(element, key);
  if (auto* object = value.getAsObject())
    for (auto& [name, element] : *object) {
      const auto text = element.getAsString();
      // The path of a program tells who installed it.
      if (text && key == "variables" && text->contains('/'))
        element = "hidden";
      else
        hide(element, name);
    }
  const auto text = value.getAsString();
  if (!text || isKind(key)) return;
  if (key == "host" || key == "node")
    value = standIn(*text, "host");
  else if (key == "boot_id")
    value = standIn(*text, "boot");
  else if (key == "uuid")
    value = standIn(*text, "GPU");
  else
    value = jsonText(hidden(*text));
}

std::string Anonymous::hiddenJson(const std::string& text) const {
  Value value = parsed(text);
  hide(value, "");
  return canonicalJson(value);
}

/// Session and trial: the fields that are names are replaced as a whole, so an unknown name there cannot slip
/// through; other texts are searched.
void Anonymous::apply(store::Session& session) const {
  for (std::string& node : session.where.nodes) node = standIn(node, "host");
  for (std::string& boot : session.where.boots) boot = standIn(boot, "boot");
  session.environment_json = hiddenJson(session.environment_json);
}

void Anonymous::apply(Trial& trial) const {
  trial.reason = hidden(trial.reason);
  trial.log_tail = hidden(trial.log_tail);
  trial.devices = hiddenJson(trial.devices);
  trial.environment_json = hiddenJson(trial.environment_json);
  for (plan::Note& note : trial.notes) note.said = hidden(note.said);
}

std::string Anonymous::nameIn(StringRef text, function_ref<bool(StringRef)> sought) const {
  const Decoded decoded(text);
  const std::string small = folded(decoded.text);
  for (size_t at = 0; at < small.size(); ++at)
    if (const auto [name, size] = nameAt(small, at); name && sought(name->first))
      return fmt::format("'{}', {}", text.slice(decoded.begins[at], decoded.begins[at + size]).str(),
                         name->second.what);
  return "";
}

/// The files' own words are collected first, from all of them: a host called "trial" cannot be searched for in
/// journals.
Error Anonymous::search(const std::string& folder, std::set<std::string>& unsought) const {
  auto files = TRY(filesBelow(folder));
  std::vector<std::pair<std::string, std::unique_ptr<llvm::MemoryBuffer>>> texts;
  Words own = own_;
  for (const std::string& name : files) {
    auto text = TRY(files::read(folder + "/" + name));
    if (StringRef(name).ends_with(".jsonl"))
      for (const StringRef line : llvm::split(text->getBuffer(), '\n')) own.addKeys(parsed(line.str()));
    if (StringRef(name).ends_with(".json")) own.addKeys(parsed(text->getBuffer().str()));
    texts.emplace_back(name, std::move(text));
  }
  std::set<std::string> stand_ins;
  for (const Name& name : llvm::make_second_range(names_)) stand_ins.insert(folded(name.stand_in));
  const auto sought = [&](StringRef name) {  // n[ occurs in programs where n is a word of theirs
    return !own.hold(name.rtrim("[{")) && !stand_ins.count(name.str());
  };
  // The user is told which names the search had to leave out.
  for (const StringRef name : llvm::make_first_range(names_))
    if (!sought(name) && !StringRef("[{").contains(name.back())) unsought.insert(name.str());
  std::vector<std::string> left;
  for (const auto& [file, buffer] : texts) {
    std::string why = nameIn(file, sought);
    size_t line = 1;
    for (const StringRef text : llvm::split(buffer->getBuffer(), '\n')) {
      if (why.empty()) why = nameIn(text, sought);
      if (!why.empty()) break;
      ++line;
    }
    if (!why.empty()) left.push_back(fmt::format("{} line {} has {}", file, line, why));
  }
  if (left.empty()) return Error::success();
  return failure(
      "no bundle was written, because it would show who measured or where: {}. expc does not change studies, options "
      "or data files: reword them, or bundle without --anonymous",
      llvm::join(left, "; "));
}

}  // namespace expc::bundle
