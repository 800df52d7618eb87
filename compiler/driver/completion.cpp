#include "compiler/driver/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/driver/completion/scripts.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/study_words.h"
#include "compiler/explain/explain.h"
#include "stdlib/stdlib.h"

namespace expc::driver {

namespace {

using Candidate = Completion::Candidate;

/// The option called `name` ("--preset", "-D") of the command or of the program.
CLI::Option* findOption(CLI::App* command, CLI::App& app, const std::string& name) {
  for (CLI::App* owner : {command, &app})
    if (owner)
      if (CLI::Option* option = owner->get_option_no_throw(name)) return option;
  return nullptr;
}

bool takesValue(const CLI::Option* option) { return option && option->get_items_expected_max() > 0; }

/// What CLI11 says of an option's choices, "{text,json}" or "value in {text->0,json->1} OR {0,1}", as words.
std::vector<std::string> choices(CLI::Option& option) {
  std::string text;
  try {
    text = option.get_validator(0)->get_description();
  } catch (const CLI::Error&) {
    return {};  // it has none
  }
  const size_t open = text.find('{');
  const size_t close = text.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> out;
  for (size_t at = open + 1; at < close;) {
    const size_t end = std::min(text.find(',', at), close);
    const std::string word = text.substr(at, end - at);
    out.push_back(word.substr(0, word.find("->")));
    at = end + 1;
  }
  return out;
}

std::vector<CLI::App*> subcommands(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

/// A command line as far as it is written.
struct Line {
  CLI::App* command = nullptr;           // the innermost: `make` of `data make`
  std::vector<std::string> positionals;  // after the command
  std::string study;                     // --study NAME
  CLI::Option* open = nullptr;           // wants its value at the cursor
  bool unknown = false;                  // there is no such command
};

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
    } else if (CLI::App* owner = out.command ? out.command : &app; !subcommands(*owner).empty()) {
      const auto all = subcommands(*owner);
      const auto found = std::find_if(all.begin(), all.end(), [&](CLI::App* one) { return one->get_name() == word; });
      out.unknown = found == all.end();
      if (out.unknown) return out;
      out.command = *found;
    } else {
      out.positionals.push_back(word);
    }
  }
  return out;
}

class Completer {
 public:
  Completer(CLI::App& app, const std::vector<std::string>& words)
      : app_(app), line_(readLine(app, words)), typed_(words.empty() ? "" : words.back()) {}

  Completion run() {
    if (line_.unknown) return out_;
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
    } else if (CLI::App& owner = line_.command ? *line_.command : app_; !subcommands(owner).empty()) {
      for (CLI::App* command : subcommands(owner)) add(command->get_name(), command->get_description());
    } else {
      positional();
    }
    return std::move(out_);
  }

 private:
  void add(const std::string& word, std::string_view meaning = "") {
    if (word.starts_with(typed_)) out_.candidates.push_back({word, std::string(meaning)});
  }
  void files(std::string ending) {
    out_.paths = Completion::Paths::Files;
    out_.ending = std::move(ending);
  }

  void options() {
    for (CLI::App* owner : {line_.command, &app_}) {
      if (!owner) continue;
      for (CLI::Option* option : owner->get_options()) {
        for (const std::string& name : option->get_lnames()) add("--" + name, option->get_description());
        for (const std::string& name : option->get_snames()) add("-" + name, option->get_description());
      }
    }
  }

  const StudyWords& words() {
    if (!words_) words_ = line_.positionals.empty() ? StudyWords{} : studyWords(line_.positionals[0], line_.study);
    return *words_;
  }

  /// The value of an option; `before` is what of the word being typed belongs to the option itself ("--preset=").
  void value(CLI::Option& option, const std::string& before) {
    const std::string name = option.get_name(false, true);
    const auto is = [&](std::string_view wanted) {
      return ("," + name + ",").find("," + std::string(wanted) + ",") != std::string::npos;
    };
    if (is("--study")) {
      for (const std::string& study : words().studies) add(before + study);
    } else if (is("--preset")) {
      for (const std::string& preset : words().presets) add(before + preset);
    } else if (is("-D")) {
      override(before);
    } else if (is("--system")) {
      add(before + "local", "this machine");
      for (const std::string& system : words().systems) add(before + system);
      for (const std::string& system : builtInSystems()) add(before + system);
    } else if (is("--workload")) {
      add(before + "image.mobilenet_v2");
      add(before + "command");
    } else if (is("--results") || (is("--to") && line_.command->get_name() == "make")) {
      out_.paths = Completion::Paths::Folders;
    } else if (is("--diff")) {  // of plan; the one of check takes no value
      files(".lock");
    } else if (is("--worker") || is("--html") || is("--to")) {
      files("");
    } else {
      for (const std::string& choice : choices(option)) add(before + choice);
    }
  }

  /// "gpus=" where a name is typed, "gpus=2" after it.
  void override(const std::string& before) {
    for (const StudyWords::Setting& setting : words().settings) {
      const std::string head = before + setting.name + "=";
      if (!typed_.starts_with(head)) {
        add(head, setting.meaning);
        continue;
      }
      for (const std::string& level : setting.values) add(head + level);
    }
  }

  void positional() {
    const std::string name = line_.command->get_name();
    const size_t number = line_.positionals.size();
    if (name == "explain" && number == 0) {
      for (const diag::Kind kind : diag::allKinds()) add(std::string(diag::code(kind)), explain::summary(kind));
      // Names only once they are meant: twice as many answers would help nobody.
      if (!typed_.empty())
        for (const diag::Kind kind : diag::allKinds()) add(std::string(diag::slug(kind)), explain::summary(kind));
    } else if (name == "doc" && number == 0) {
      for (std::string_view module : stdlib::names()) add("std." + std::string(module));
      files(".exp");
    } else if (name == "doc" && number == 1) {
      for (const std::string& workload : workloadWords(line_.positionals[0])) add(workload);
    } else if (name == "completion" && number == 0) {
      for (std::string_view shell : completionShells()) add(std::string(shell));
    } else if (name == "make" && number == 0) {
      for (const std::string& kind : choices(*line_.command->get_option("kind"))) add(kind);
    } else if (number == 0 && (name == "pack" || name == "info" || name == "verify")) {
      files("");
    } else if (name == "fmt" || (number == 0 && line_.command->get_option_no_throw("file"))) {
      files(".exp");
    }
  }

  CLI::App& app_;
  Line line_;
  std::string typed_;
  std::optional<StudyWords> words_;
  Completion out_;
};

}  // namespace

Completion completeWords(CLI::App& app, const std::vector<std::string>& words) { return Completer(app, words).run(); }

std::vector<std::string> splitLine(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  bool open = false;  // a word has begun, if only by a quote
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (open) out.push_back(std::move(word));
      word.clear();
      open = false;
      continue;
    }
    open = true;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
    } else {
      word += c;
    }
  }
  out.push_back(std::move(word));
  return out;
}

int printCompletion(CLI::App& app, const std::vector<std::string>& arguments, const Console& console) {
  std::vector<std::string> words;
  if (arguments.size() == 2 && arguments[0] == "--line") {
    words = splitLine(arguments[1]);
    words.erase(words.begin());  // the program
  } else if (!arguments.empty() && arguments[0] == "--words") {
    words.assign(arguments.begin() + 1, arguments.end());
  } else {
    console.error("complete-words takes --line LINE or --words WORD...; `expc completion SHELL` prints what calls it");
    return kUsage;
  }
  const Completion completion = completeWords(app, words);
  std::string text;
  for (const Completion::Candidate& candidate : completion.candidates)
    text += candidate.word + (candidate.meaning.empty() ? "" : "\t" + candidate.meaning) + "\n";
  if (completion.paths == Completion::Paths::Folders) text += ":folders\n";
  if (completion.paths == Completion::Paths::Files)
    text += ":files" + (completion.ending.empty() ? "" : " " + completion.ending) + "\n";
  return console.print(text) ? kSuccess : kError;
}

int printCompletionScript(const std::string& shell, const Console& console) {
  const std::optional<std::string_view> script = completionScript(shell);
  if (!script) {
    console.error(
        fmt::format("there is no completion for '{}'; there is {}", shell, fmt::join(completionShells(), ", ")));
    return kUsage;
  }
  return console.print(*script) ? kSuccess : kError;
}

}  // namespace expc::driver
