#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "compiler/diag/names.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/starters/starters.h"
#include "compiler/parse/cst.h"
#include "runtime/files/files.h"

namespace expc::driver {

namespace {

struct Starter {
  std::string_view workload, text;
};

/// Of each kind of workload that a study can be begun with.
std::vector<Starter> starters() {
  return {{"image.mobilenet_v2", *starterText("image")},
          {"llm.finetune", *starterText("llm")},
          {"command", *starterText("command")}};
}

}  // namespace

int newStudy(const NewOptions& options, const Console& console) {
  const std::vector<Starter> all = starters();
  const auto starter =
      std::find_if(all.begin(), all.end(), [&](const Starter& entry) { return entry.workload == options.workload; });
  if (starter == all.end()) {
    std::vector<std::string> names;
    for (const Starter& entry : all) names.emplace_back(entry.workload);
    return console.usage(fmt::format(
        "there is no starter for '{}'; {}", options.workload,
        diag::didYouMean(options.workload, names, fmt::format("--workload takes {}", fmt::join(names, ", ")))));
  }
  std::filesystem::path path = options.name;
  if (path.extension() != ".exp") path += ".exp";
  const std::string name = path.stem().string();
  if (!parse::isName(name))
    return console.usage(fmt::format(
        "'{}' cannot name a study: letters, digits and _, not a digit first and no word of the language", name));
  constexpr std::string_view kStudy = "\nstudy starter {";
  std::string text(starter->text);
  text.replace(text.find(kStudy), kStudy.size(), "\nstudy " + name + " {");
  const std::string shown = path.string();
  if (!options.force && files::isThere(shown))
    return console.error(fmt::format("{} is there already; choose another name, or replace it with --force", shown));
  if (llvm::Error error = files::write(shown, text))
    return console.error(fmt::format("cannot write {}", llvm::toString(std::move(error))));
  return console.finish(
      fmt::format("wrote {0}\n  expc check {0}\n  expc plan {0}\n  expc run {0} --preset quick\n", shown));
}

}  // namespace expc::driver
