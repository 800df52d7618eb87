// Completion of command lines in shells. The scripts of cli/completion pass the line up to the cursor; this file finds
// out what is being typed there (a command, an option, its value, an argument) and prints candidates. Commands, options
// and choices come from the parser itself, names of studies, presets and factors from the study file that stands
// earlier on the line. It must never fail loudly: a broken study or an unknown command gives fewer candidates.

#include <fmt/ranges.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Allocator.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/StringSaver.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/compilation.h"
#include "cli/completion/scripts.h"
#include "cli/subcommand.h"
#include "compiler/editor/explain.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/printable.h"
#include "stdlib/stdlib.h"

namespace expc::cli {

namespace {

/// The names in a study file that can stand on a command line.
struct StudyWords {
  struct Setting {
    std::string name, meaning;
    /// Levels of a factor, as they are written. There may be thousands.
    llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> values;
  };
  std::vector<std::string> studies, presets;
  /// Systems that the file declares.
  std::vector<std::string> systems;
  /// Names that -D can set: factors, parameters, settings of the design.
  std::vector<Setting> settings;
};

/// Returns the setting of that name, added if it is new; a factor that is also a parameter keeps its first meaning.
StudyWords::Setting& setting(StudyWords& words, const std::string& name, const char* meaning) {
  for (StudyWords::Setting& entry : words.settings)
    if (entry.name == name) return entry;
  words.settings.push_back({name, meaning, {}});
  return words.settings.back();
}

/// Adds the names of a study that was checked. Presets of several studies may share names.
void addStudy(StudyWords& words, const check::Study& study) {
  for (const check::Change& preset : study.presets) base::addOnce(words.presets, preset.name);
  for (const check::Factor& factor : study.factors) {
    StudyWords::Setting& entry = setting(words, factor.name, "levels of a factor");
    for (const check::Level& level : factor.levels) entry.values.insert(level.label);
  }
  for (const check::Constant& constant : study.constants) setting(words, constant.name, "a constant of the study");
  if (study.workload)
    for (const check::Parameter& parameter : study.workload->parameters) setting(words, parameter.name, "an argument");
  if (study.design) {
    for (const auto& [kind, block] : study.design->kinds)
      for (const auto& [name, value] : block.settings)
        setting(words, "design." + std::string(plan::toString(kind)) + "." + name, "a setting of the design");
    for (const auto& [name, value] : study.design->settings)
      setting(words, "design." + name, "a setting of the design");
  }
}

/// Returns the names in the file at `path`, as far as it can be read; mistakes in it do not matter. `study` selects one
/// study, "" takes all.
StudyWords studyWords(const std::string& path, const std::string& study) {
  StudyWords words;
  Compilation compilation;
  const load::FileSystem files = load::FileSystem::real();
  // A file that cannot be read gives no names. The command itself will say why.
  auto text = expectedToOptional(files.read(path));
  if (text) compile(path, std::move(*text), files, compilation);
  if (!compilation.program) return words;
  const check::Program& program = *compilation.program;
  // Studies, presets and systems come from the syntax tree: a study with a mistake inside is not among the checked
  // ones, but is still meant.
  for (const ast::StudyDecl& declared : program.modules.root().ast.studies) {
    words.studies.push_back(declared.name.name);
    if (study.empty() || study == declared.name.name)
      for (const ast::PresetDecl& preset : declared.presets) base::addOnce(words.presets, preset.name.name);
  }
  for (const ast::PresetDecl& preset : program.modules.root().ast.presets)
    base::addOnce(words.presets, preset.name.name);
  for (const ast::SystemDecl& system : program.modules.root().ast.systems)
    base::addOnce(words.systems, system.name.name);
  for (const std::unique_ptr<check::Study>& entry : program.studies)
    if (study.empty() || study == entry->name) addStudy(words, *entry);
  return words;
}

/// Returns the option called `name` ("--preset", "-D") of the command, else of the program, or null.
CLI::Option* findOption(CLI::App* command, CLI::App& app, const std::string& name) {
  for (CLI::App* owner : {command, &app})
    if (owner)
      if (CLI::Option* option = owner->get_option_no_throw(name)) return option;
  return nullptr;
}

/// Whether a value follows the option; flags take none.
bool takesValue(const CLI::Option* option) { return option && option->get_items_expected_max() > 0; }

/// Returns the words that an option takes, read from the description that CLI11 gives its validator: "{text,json}".
std::vector<std::string> choices(CLI::Option& option) {
  std::string text;
  try {
    text = option.get_validator(0)->get_description();
  } catch (const CLI::Error&) {
    return {};  // it has none
  }
  if (!text.starts_with('{')) return {};
  llvm::SmallVector<StringRef> words;
  StringRef(text).trim("{}").split(words, ',');
  return {words.begin(), words.end()};
}

/// A command line up to the cursor, taken apart.
struct Line {
  /// The innermost command: `make` of `data make`; null before there is one.
  CLI::App* command = nullptr;
  /// Arguments after the command that are no options.
  std::vector<std::string> positionals;
  /// The value of --study, since names of presets depend on it.
  std::string study;
  /// The option whose value stands at the cursor; null if another word does.
  CLI::Option* open = nullptr;
  /// Whether the line names a command that there is not.
  bool unknown = false;
};

/// Takes all words but the last apart; the last one is being typed.
Line readLine(CLI::App& app, const std::vector<std::string>& words) {
  Line out;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      CLI::Option* option = findOption(out.command, app, name);
      if (!takesValue(option)) continue;
      const bool inside = name.size() < word.size();
      if (!inside && i + 2 == words.size()) {
        out.open = option;
      } else {
        const std::string value = inside ? word.substr(name.size() + 1) : words[++i];
        if (name == "--study") out.study = value;
      }
    } else if (CLI::App* owner = out.command ? out.command : &app; !owner->get_subcommands(nullptr).empty()) {
      const auto all = owner->get_subcommands(nullptr);
      const auto found = std::ranges::find_if(all, [&](CLI::App* one) { return one->get_name() == word; });
      out.unknown = found == all.end();
      if (out.unknown) return out;
      out.command = *found;
    } else {
      out.positionals.push_back(word);
    }
  }
  return out;
}

/// Finds the candidates for one line.
class Completer {
 public:
  Completer(CLI::App& app, const std::vector<std::string>& words)
      : app_(app), line_(readLine(app, words)), typed_(words.empty() ? "" : words.back()) {}

  /// Returns one candidate on each line, with its meaning behind a tab, as far as it begins with what is typed. A line
  /// ":files .exp" or ":folders" asks the shell's script for names of files.
  std::string run() {
    if (line_.unknown) return "";
    if (line_.open) {
      value(*line_.open, "");
    } else if (typed_.starts_with('-')) {
      const size_t equal = typed_.find('=');
      CLI::Option* option =
          equal == std::string::npos ? nullptr : findOption(line_.command, app_, typed_.substr(0, equal));
      if (takesValue(option))
        value(*option, typed_.substr(0, equal + 1));
      else
        options();
    } else if (CLI::App& owner = line_.command ? *line_.command : app_; !owner.get_subcommands(nullptr).empty()) {
      for (CLI::App* command : owner.get_subcommands(nullptr)) add(command->get_name(), command->get_description());
    } else {
      positional();
    }
    return std::move(out_);
  }

 private:
  /// Adds a candidate if it goes on with the typed word.
  void add(const std::string& word, std::string_view meaning = "") {
    // A name with control characters could add lines of its own or steer the terminal.
    if (word.starts_with(typed_) && base::printable(word) == word)
      out_ += fmt::format("{}{}{}\n", word, meaning.empty() ? "" : "\t", meaning);
  }
  template <typename Words>
  void addAll(const std::string& before, const Words& words) {
    for (const auto& word : words) add(before + std::string(word));
  }

  /// Adds all options of the command and of the program.
  void options() {
    for (CLI::App* owner : {line_.command, &app_}) {
      if (!owner) continue;
      for (CLI::Option* option : owner->get_options()) {
        for (const std::string& name : option->get_lnames()) add("--" + name, option->get_description());
        for (const std::string& name : option->get_snames()) add("-" + name, option->get_description());
      }
    }
  }

  /// The names in the study file, read once and only when a candidate needs them: compiling takes longer than the rest.
  const StudyWords& words() {
    if (!words_) words_ = line_.positionals.empty() ? StudyWords{} : studyWords(line_.positionals[0], line_.study);
    return *words_;
  }

  /// Adds the values of an option. `before` is the part of the typed word that belongs to the option itself
  /// ("--preset=").
  void value(CLI::Option& option, const std::string& before) {
    const std::string name = option.get_name();
    if (name == "--study") {
      addAll(before, words().studies);
    } else if (name == "--preset") {
      addAll(before, words().presets);
    } else if (name == "-D") {
      override(before);
    } else if (name == "--system") {
      add(before + "local", "this machine");
      addAll(before, words().systems);
      addAll(before, builtInSystems());
    } else if (name == "--workload") {
      for (const auto& [workload, file] : kStarters) add(before + std::string(workload));
    } else if (name == "--results" || (name == "--to" && line_.command->get_name() == "make")) {
      out_ += ":folders\n";
      // The option of `plan`; the --diff of `check` takes no value.
    } else if (name == "--diff") {
      out_ += ":files .lock\n";
    } else if (name == "--worker" || name == "--html" || name == "--to") {
      out_ += ":files\n";
    } else {
      addAll(before, choices(option));
    }
  }

  /// Adds "gpus=" while a name is typed, and "gpus=2" after it.
  void override(const std::string& before) {
    for (const StudyWords::Setting& setting : words().settings) {
      const std::string head = before + setting.name + "=";
      if (!typed_.starts_with(head)) {
        add(head, setting.meaning);
        continue;
      }
      addAll(head, setting.values);
    }
  }

  /// Adds what can stand as the next argument of the command.
  void positional() {
    const std::string name = line_.command->get_name();
    const size_t number = line_.positionals.size();
    if (name == "explain" && number == 0) {
      for (const diag::Kind kind : diag::allKinds()) add(std::string(diag::code(kind)), editor::summary(kind));
      // Names join the codes only when something was typed: twice as many answers would help nobody.
      if (!typed_.empty())
        for (const diag::Kind kind : diag::allKinds()) add(std::string(diag::slug(kind)), editor::summary(kind));
    } else if (name == "doc" && number == 0) {
      addAll("std.", stdlib::names());
      out_ += ":files .exp\n";
    } else if (name == "doc" && number == 1) {
      addAll("", workloadsOf(line_.positionals[0]));
    } else if (name == "completion" && number == 0) {
      addAll("", completionShells());
    } else if (name == "make" && number == 0) {
      addAll("", choices(*line_.command->get_option("kind")));
    } else if (number == 0 && (name == "pack" || name == "info" || name == "verify")) {
      out_ += ":files\n";
    } else if (name == "fmt" || (number == 0 && line_.command->get_option_no_throw("file"))) {
      out_ += ":files .exp\n";
    }
  }

  CLI::App& app_;
  Line line_;
  std::string typed_;
  std::optional<StudyWords> words_;
  std::string out_;
};

/// Splits a command line up to the cursor as a shell would. The last word, possibly empty, is the one being typed.
std::vector<std::string> splitLine(const std::string& line) {
  // A letter appended at the cursor makes an empty last word visible to the tokenizer, and is taken off again.
  // Converting through c_str() ends the line at a zero byte, where every argument of a program ends.
  std::vector<std::string> out = shellWords(std::string(line.c_str()) + "x");
  out.back().pop_back();
  return out;
}

}  // namespace

std::vector<std::string> shellWords(const std::string& line) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char*> words;
  llvm::cl::TokenizeGNUCommandLine(line, saver, words);
  return {words.begin(), words.end()};
}

Exit printCompletion(CLI::App& app, const std::vector<std::string>& arguments, const Console& console) {
  std::vector<std::string> words;
  if (arguments.size() == 2 && arguments[0] == "--line") {
    words = splitLine(arguments[1]);
    if (!words.empty()) words.erase(words.begin());  // the program
  } else if (!arguments.empty() && arguments[0] == "--words") {
    words.assign(arguments.begin() + 1, arguments.end());
  } else {
    return usage("complete-words takes --line LINE or --words WORD...; the script of `expc completion SHELL` calls it");
  }
  return console.printRaw(Completer(app, words).run()) ? kSuccess : kError;
}

Exit printCompletionScript(const std::string& shell, const Console& console) {
  const std::optional<std::string_view> script = completionScript(shell);
  if (script) return console.printRaw(*script) ? kSuccess : kError;
  return usage("no completion for '{}'; shells: {}", shell, fmt::join(completionShells(), ", "));
}

}  // namespace expc::cli
