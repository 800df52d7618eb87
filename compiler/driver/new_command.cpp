#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>

#include "compiler/diag/closest.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/starters/starters.h"
#include "compiler/parse/parse.h"

namespace expc::driver {

namespace {

struct Starter {
  std::string_view workload, text;
};

/// Of each kind of workload that a study can be begun with.
std::vector<Starter> starters() {
  return {{"image.mobilenet_v2", *starterText("image")}, {"command", *starterText("command")}};
}

/// Whether a study can be called so: a name that is none of the language's words.
bool isName(const std::string& name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  const auto inside = [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)); };
  if (name.empty() || !letter(name[0]) || !std::all_of(name.begin(), name.end(), inside)) return false;
  source::SourceManager sources;
  diag::Collector collector;
  diag::Emitter emitter(collector);
  const source::FileId file = sources.add("", "study " + name + " { }");
  parse::parse(sources, file, emitter);
  return emitter.errors() == 0;
}

/// Writes a file that must not be there yet, unless `replace`; 0 or the errno.
int write(const std::string& path, std::string_view text, bool replace) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (replace ? O_TRUNC : O_EXCL), 0666);
  if (file < 0) return errno;
  int failed = 0;
  while (!text.empty() && failed == 0) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count > 0)
      text.remove_prefix(static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR)
      failed = count == 0 ? ENOSPC : errno;
  }
  if (close(file) != 0 && failed == 0) failed = errno;
  return failed;
}

}  // namespace

int newStudy(const NewOptions& options, const Console& console) {
  const std::vector<Starter> all = starters();
  const auto starter =
      std::find_if(all.begin(), all.end(), [&](const Starter& entry) { return entry.workload == options.workload; });
  if (starter == all.end()) {
    std::vector<std::string> names;
    for (const Starter& entry : all) names.emplace_back(entry.workload);
    console.error(fmt::format(
        "there is no starter for '{}'; {}", options.workload,
        diag::didYouMean(options.workload, names, fmt::format("--workload takes {}", fmt::join(names, " or ")))));
    return kUsage;
  }
  std::filesystem::path path = options.name;
  if (path.extension() != ".exp") path += ".exp";
  const std::string name = path.stem().string();
  if (!isName(name)) {
    console.error(
        fmt::format("'{}' cannot name a study: letters, digits and _, not a digit first and no word of the "
                    "language",
                    name));
    return kUsage;
  }
  constexpr std::string_view kStudy = "\nstudy starter {";
  std::string text(starter->text);
  text.replace(text.find(kStudy), kStudy.size(), "\nstudy " + name + " {");
  if (const int failed = write(path.string(), text, options.force)) {
    console.error(
        failed == EEXIST
            ? fmt::format("{} is there already; choose another name, or replace it with --force", path.string())
            : fmt::format("cannot write {}: {}", path.string(), std::generic_category().message(failed)));
    return kError;
  }
  const std::string shown = path.string();
  return console.print(
             fmt::format("wrote {0}\n  expc check {0}\n  expc plan {0}\n  expc run {0} --preset quick\n", shown))
             ? kSuccess
             : kError;
}

}  // namespace expc::driver
