// Finds and digests the files of commands. The Finder resolves one command: programs in PATH or beside the study,
// patterns of `inputs`, files among the arguments, and imports of scripts. All mistakes that would fail every trial
// alike are refused here, with the way out.

#include "runtime/engine/inputs/command_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/GlobPattern.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/Regex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/glob.h"
#include "runtime/base/files/marks.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/command.h"
#include "runtime/protocol/trial.h"
#include "runtime/store/store.h"

namespace expc::engine::inputs {
namespace {

namespace fs = std::filesystem;

/// Whether a file begins with `mark`; false if it cannot be read.
bool begins(const std::string& path, StringRef mark) {
  const auto content = expectedToOptional(files::map(path));
  return content && (*content)->getBuffer().starts_with(mark);
}

/// Whether expc itself reads or wrote this file, so that a pattern such as `**` cannot mean it: studies, locks and
/// bundles, files in results folders (known by their journals), exports and reports.
bool isOurs(const std::string& root, const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".exp") || name.ends_with(".exp.lock") || name.ends_with(".bundle.tar.zst")) return true;
  for (fs::path at = file.parent_path(); at.string().size() > root.size(); at = at.parent_path())
    if (const std::string journal = store::firstJournal(at.string());
        !journal.empty() && begins(journal, store::kJournalMark))
      return true;
  const auto content = expectedToOptional(files::map(file.string()));
  return content && files::isOurs((*content)->getBuffer());
}

/// Looks for everything that one command needs. One use: find() or findInputs().
class Finder {
 public:
  Finder(const Plan& plan, unsigned workload, const std::string& results)
      : plan_(plan),
        index_(workload),
        workload_(plan.workloads[workload]),
        command_(*workload_.command),
        started_{&command_.arguments, &command_.before},
        results_(results) {
    for (const plan::Service& service : command_.services) started_.push_back(&service.command.arguments);
    if (command_.preparation) started_.insert(started_.begin() + 1, &command_.preparation->arguments);
  }

  Expected<CommandFiles> find() {
    if (command_.arguments.empty()) return fail("the command is empty");
    for (const auto* arguments : started_) TRY(programs(*arguments));
    std::ranges::sort(files_.programs);
    TRY(inputs());
    TRY(metrics());
    return std::move(files_);
  }

  /// Finds the inputs alone, for a lock.
  Expected<CommandFiles> findInputs() {
    TRY(inputs());
    return std::move(files_);
  }

 private:
  template <typename... Args>
  Error fail(fmt::format_string<Args...> why, Args&&... args) const {
    return failure("the workload {}: {}", workload_.name, fmt::format(why, std::forward<Args>(args)...));
  }
  /// Adds the program `name`, or says why it cannot be started. The kernel would say the same, but for each trial and
  /// in fewer words.
  Error program(const std::string& name) {
    const std::string path = plan::programPath(name, plan_.root);
    std::string file = path;
    std::error_code failed;
    if (path.find('/') == std::string::npos) {
      const auto found = llvm::sys::findProgramByName(path);
      if (!found) {
        const char* search = std::getenv("PATH");
        const bool here = fs::exists(fs::path(plan_.root) / name, failed);
        return fail(
            "program '{}' not found in PATH: {} (PATH is {})", name,
            here ? fmt::format("for the file next to the study, write './{}'", name) : "install it, or write its path",
            search ? search : "not set");
      }
      file = *found;
    }
    if (!fs::exists(file, failed)) return fail("the program '{}' does not exist (looked for {})", name, file);
    if (fs::is_directory(file, failed)) return fail("the program '{}' is a folder ({})", name, file);
    if (access(file.c_str(), X_OK) != 0) return fail("the program '{}' is not executable (chmod +x {})", name, file);
    // For Linux and for env a carriage return is a part of the interpreter's name, so the script would not start.
    const auto content = expectedToOptional(files::map(file));  // taking the digest reports an error
    const StringRef first = content ? (*content)->getBuffer().split('\n').first : "";
    llvm::SmallVector<StringRef> words;
    if (first.starts_with("#!") && llvm::Regex("^#![ \t]*([^ \t]+)[ \t]*(.*)$").match(first, &words)) {
      if (words[1].ends_with("\r") || (words[1].ends_with("/env") && words[2].ends_with("\r")))
        return fail(
            "the first line of '{0}' ends with a carriage return (Windows line ends), so its interpreter is not found. "
            "Remove them: sed -i 's/\\r$//' {0}",
            file);
      if (!fs::exists(words[1].str(), failed))
        return fail("the interpreter of '{}' does not exist ({})", file, words[1].str());
    }
    // Programs that are parameters are data: their digest counts only for the points that name them.
    const bool data = std::ranges::any_of(plan_.data_paths, [&](const std::string& one) {
      return (fs::path(plan_.root) / one).lexically_normal() == file;
    });
    if (!data) base::addOnce(files_.programs, file);
    return Error::success();
  }

  /// Finds the programs that these arguments start, over all points. If the first argument is `${name}` of a parameter
  /// that is inactive at a point, it is left out there, as in a trial; the compiler has refused other unknown names.
  Error programs(const std::vector<std::string>& templates) {
    if (templates.empty()) return Error::success();
    // A fixed program is looked up once, one with parameters at every point.
    const bool fixed = templates.front().find('$') == std::string::npos;
    if (templates.front().find("${prepared}") != std::string::npos) return Error::success();  // not made yet
    std::set<std::string> seen;
    for (const Point* started : plan_.started()) {
      const Point& point = *started;
      if (point.workload != index_ || !point.unavailable.empty()) continue;
      protocol::TrialSpec spec;
      spec.parameters = absoluteParameters(plan_, point.parameters);
      spec.folder = plan_.root;
      auto arguments = plan::expandArguments(templates, protocol::argumentValues(spec));
      if (!arguments) return fail("{}", toString(arguments.takeError()));
      if (arguments->empty() || arguments->front().empty())
        return fail("at {} no program is left to run: its name stands for an inactive parameter", plan_.label(point));
      if (seen.insert(arguments->front()).second) TRY(program(arguments->front()));
      if (fixed) break;
    }
    return Error::success();
  }

  /// Adds an input. Its name is relative to the study; a file outside has no name.
  void add(const std::string& path, bool hard, bool copy = false) {
    const std::string name = fs::path(path).lexically_relative(fs::path(plan_.root).lexically_normal()).string();
    const bool outside = name.empty() || name == "." || name.substr(0, 2) == "..";
    files_.inputs.push_back({outside ? "" : name, path, hard, copy, false});
  }

  /// Adds the files of a pattern. A file that is named without wildcards is taken even if expc wrote it.
  Error inputsMatching(const std::string& pattern, bool copy) {
    auto found = files::filesMatching(plan_.root, pattern, results_);
    if (!found) return fail("inputs: {}", toString(found.takeError()));
    // Only a wildcard can mean our files by accident.
    if (pattern.find_first_of("*?[") != std::string::npos)
      std::erase_if(*found, [&](const std::string& file) { return isOurs(plan_.root, file); });
    // A pattern without a match is a mistake: the command would run without the file and fail, or worse, not fail.
    if (found->empty())
      return fail("the input '{}' matches no file in {}: put the file there, or correct its name in `inputs`", pattern,
                  plan_.root);
    for (const std::string& path : *found) add(path, true, copy);
    return Error::success();
  }

  /// Whether an interpreter would run this argument: the first one, and nothing runs before that could write it.
  bool isScript(const std::vector<std::string>& arguments, size_t at) const {
    static const std::set<std::string> kInterpreters{"bash", "julia",   "node",    "perl", "python",
                                                     "sh",   "python3", "Rscript", "ruby"};
    return at == 1 && kInterpreters.contains(fs::path(arguments[0]).filename().string()) && arguments[1][0] != '-' &&
           fs::path(arguments[1]).has_extension() && command_.before.empty() && !command_.preparation;
  }

  /// Adds files of the study that stand among the arguments: `python train.py` makes train.py an input, so it need not
  /// be named twice. The link is symbolic, so that the script finds what lies beside it.
  Error inputsAmong(const std::vector<std::string>& arguments) {
    for (size_t i = 1; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      std::error_code failed;
      if (argument.empty() || argument.find('$') != std::string::npos || fs::path(argument).is_absolute()) continue;
      const fs::path path = (fs::path(plan_.root) / argument).lexically_normal();
      if (!fs::is_regular_file(path, failed)) {
        if (!isScript(arguments, i)) continue;
        return fail("there is no '{}' in {}, which {} would run: correct its name in `command`", argument, plan_.root,
                    arguments[0]);
      }
      add(path.string(), false);
      files_.inputs.back().argument_only = true;
      if (files_.inputs.back().name.empty())
        return fail(
            "the argument '{}' is a file outside the study's folder, and each trial runs in its own folder: write the "
            "absolute path, or make it a parameter of type path",
            argument);
    }
    return Error::success();
  }

  /// Collects all inputs. A file that is named in several ways is kept in the first: a copy, then `inputs`, then
  /// arguments.
  Error inputs() {
    for (const std::string& pattern : command_.copied) TRY(inputsMatching(pattern, true));
    for (const std::string& pattern : command_.inputs) TRY(inputsMatching(pattern, false));
    for (const auto* arguments : started_) TRY(inputsAmong(*arguments));
    // Stable, so that the first way to name a file stays first.
    std::ranges::stable_sort(files_.inputs, {}, &InputFile::path);
    const auto others = std::ranges::unique(files_.inputs, {}, &InputFile::path);
    files_.inputs.erase(others.begin(), others.end());
    lookAtImports();
    return Error::success();
  }

  /// Looks at the imports of Python scripts. Python searches the folder of the script after resolving links, so a
  /// symbolic link lets it find modules beside the original and a hard link does not. If some import would otherwise
  /// not be found, all Python files get symbolic links.
  void lookAtImports() {
    const auto isPython = [](const std::string& name) { return name.ends_with(".py"); };
    std::vector<std::string> names, scripts;
    for (const InputFile& input : files_.inputs) names.push_back(input.name);
    for (const auto* arguments : started_)
      for (const std::string& argument : *arguments)
        if (const std::string name = fs::path(argument).lexically_normal().string();
            isPython(name) && is_contained(names, name))
          scripts.push_back(name);
    files_.imports = importsBeside(plan_.root, scripts, names);
    for (InputFile& input : files_.inputs) input.hard &= files_.imports.empty() || !isPython(input.name);
  }

  /// Refuses metrics that are read from an input: a trial that writes nothing would read the old content, and one that
  /// writes would change the user's file through its link.
  Error metrics() const {
    const auto check = [&](const std::string& what, const std::string& read) -> Error {
      const std::string file = fs::path(read).lexically_normal().string();
      // A trial would read an input that `*` matches, and take it for what the program wrote.
      const auto pattern = expectedToOptional(llvm::GlobPattern::create(file));
      const bool many = pattern && file.find('*') != std::string::npos;
      for (const InputFile& input : files_.inputs)
        if (!file.empty() && !input.copy && (input.name == file || (many && pattern->match(input.name))))
          return fail(
              "{} is read from '{}', which is an input{}, or write `inputs copy \"{}\"` if the program changes it",
              what, read,
              input.argument_only
                  ? ", since it is an argument and a file of this name exists: delete or rename the file"
                  : ": remove it from `inputs`",
              read);
      return Error::success();
    };
    for (const plan::CommandMetric& metric : command_.metrics)
      TRY(check(fmt::format("the metric {}", metric.name), metric.file));
    for (const plan::Expectation& expectation : command_.expectations)
      TRY(check("what is expected", expectation.read.file));
    return Error::success();
  }

  const Plan& plan_;
  const unsigned index_;
  const plan::Workload& workload_;
  const plan::Command& command_;
  std::vector<const std::vector<std::string>*>
      started_;  // command lines: the program, its preparation, `before`, services
  const std::string results_;
  CommandFiles files_;
};

}  // namespace

/// Whether the workload is a command with some point; a preset may have left none.
static bool runs(const Plan& plan, unsigned workload) {
  return plan.workloads[workload].command &&
         std::ranges::any_of(plan.points, [&](const auto& point) { return point.workload == workload; });
}

Expected<std::vector<CommandFiles>> findCommandFiles(const Plan& plan, const std::string& results) {
  std::vector<CommandFiles> all(plan.workloads.size());
  for (unsigned i = 0; i < plan.workloads.size(); ++i)
    if (runs(plan, i)) all[i] = TRY(Finder(plan, i, results).find());
  return all;
}

Expected<std::string> digestCommand(const Plan& plan, unsigned workload, const CommandFiles& files, const Tick& tick,
                                    std::map<std::string, std::string>* parts) {
  llvm::BLAKE3 hasher;
  const auto add = [&](const std::string& name, const std::string& path, const std::string& part) -> Error {
    llvm::BLAKE3 alone;
    TRY(addToDigest(hasher, name, path, tick, parts ? &alone : nullptr));
    if (parts) (*parts)[part] = llvm::toHex(alone.final<16>(), /*LowerCase=*/true);
    return Error::success();
  };
  // The name of a program is left out of the command's digest, so that equal programs in other places agree.
  for (const std::string& program : files.programs)
    TRY(add("program", program, fs::path(program).lexically_proximate(plan.root)));
  // The digest tells copies from links, since some programs treat a link differently from a file of their own.
  for (const InputFile& input : files.inputs)
    TRY(add(input.copy ? input.name + "/copy" : input.name, input.path, input.name.empty() ? input.path : input.name));
  if (const auto& preparation = plan.workloads[workload].command->preparation)
    hasher.update("prepare " + canonicalJson(base::jsonTexts(preparation->arguments)));
  return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

Error digestCommands(const Plan& plan, const std::vector<CommandFiles>& files,
                     std::map<std::string, std::string>& digests, const Tick& tick) {
  for (unsigned i = 0; i < plan.workloads.size(); ++i) {
    if (!runs(plan, i)) continue;
    std::map<std::string, std::string> parts;
    const std::string key = store::commandKey(plan.workloads[i]);
    digests[key] = TRY(digestCommand(plan, i, files[i], tick, &parts));
    for (auto& [name, one] : parts) digests[store::partKey(key, name)] = std::move(one);
  }
  return Error::success();
}

Expected<std::string> digestInputs(const Plan& plan, unsigned workload, const Tick& tick) {
  auto files = TRY(Finder(plan, workload, "").findInputs());
  llvm::BLAKE3 hasher;
  for (const InputFile& input : files.inputs) TRY(addToDigest(hasher, input.name, input.path, tick));
  return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

}  // namespace expc::engine::inputs
