// `expc bench 'gzip -6 f' 'zstd -3 f'`: writes the study that asks whether the first command is faster, and runs it.
// The study is an ordinary file for the user to keep and change, so the work here is to write readable source text:
// names from commands, parameters as factors, inputs from the files that commands name. It is formatted like any other
// study and then passed to `run`.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Program.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/subcommand.h"
#include "compiler/check/expression.h"
#include "compiler/format/format.h"
#include "compiler/parse/cst.h"
#include "compiler/parse/parse.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/glob.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace expc::cli {

namespace {

/// Whether only a shell can run a command: it has characters that a shell interprets, an empty word, or an assignment
/// before the program. Text in quotes is first replaced by a plain word.
bool isForShell(const std::string& text) {
  static const std::regex plain(R"('[^'\\]+'|"[^"$`\\]+")"), shell(R"([|&;<>()$`*?[#~\n\\'"]|^[^ ]*=)");
  return std::regex_search(std::regex_replace(text, plain, "x"), shell);
}

/// The longest part of a command that names its workload.
constexpr size_t kLongestName = 40;

/// The study of one command line. Call read() first, then study().
class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}

  /// Reads parameters and commands.
  Error read() {
    for (const std::string& text : options_.parameters) TRY(parameter(text));
    for (const std::string& text : options_.commands) TRY(command(text));
    if (!options_.prepare.empty() && std::ranges::none_of(options_.commands, [&](const std::string& one) {
          return one.find("{prepared}") != std::string::npos;
        }))
      notes_.push_back("--prepare runs once before the first start; what runs before each start is --before");
    if (names_.size() > 1 && options_.runs > 0 && options_.runs < needed())
      return usage("-r {}: a verdict with 95 % confidence needs {} runs of each", options_.runs, needed());
    return Error::success();
  }

  /// Remarks for the user that are no mistakes.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Returns the runs of each command without which the claim could not fail. The widest interval of ranks of n pairs
  /// misses with probability 2 * 2^-n, and Holm's correction asks 5 % divided by the number of comparisons of it.
  unsigned needed() const {
    double comparisons = double(names_.size()) - 1;
    for (const auto& [parameter, values] : parameters_) comparisons *= double(values.size());
    return unsigned(std::ceil(1 + std::log2(std::max(comparisons, 1.0) / 0.05)));
  }

  /// Returns the source of the study under a name, not yet formatted.
  std::string study(const std::string& name) const {
    const bool several = names_.size() > 1;
    std::string text = "// Written by expc bench. You may change it; expc never overwrites a changed file.\n";
    for (size_t i = 0; i < names_.size(); ++i) text += workload(names_[i], options_.commands[i]);
    text += fmt::format("\nstudy {} {{\n", name);
    for (const std::string& own : names_) text += fmt::format("workload {}{}\n", own, several ? " = " + own : "");
    std::string by = several ? ", workload" : "";
    for (const auto& [parameter, values] : parameters_) {
      text += fmt::format("factor {} in {{ {} }}\n", parameter, fmt::join(values, ", "));
      by += ", " + parameter;
    }
    text += "\nmeasure wall, cpu_time\n";
    if (several)
      text += fmt::format(
          "\n/// Time of the other commands ÷ time of the first.\ncompare others_take = ratio(wall) over workload "
          "against {}\n"
          "criterion others_take_longer: forall *: others_take > 1x with confidence 95%\n",
          names_[0]);
    // An interim analysis at 10 lets a clear difference end early.
    const std::string runs = options_.runs > 0           ? std::to_string(options_.runs)
                             : several && needed() <= 10 ? "20 looks at 10"
                             : several                   ? std::to_string(std::max(20u, needed()))
                                                         : "10";
    const std::string warmup = options_.warmup > 0 ? fmt::format(" warmup {}", options_.warmup) : "";
    text += fmt::format("\ndesign {{ timed {{ repeat {}{} }} }}\n\ntable wall {}\n", runs, warmup,
                        by.empty() ? "" : by.replace(0, 1, "by"));
    // A number that is scanned is the axis of a plot.
    for (const auto& [parameter, values] : parameters_)
      if (values.size() > 1 && values[0][0] != '"')
        text += fmt::format("plot wall over {}{}\n", parameter, several ? " by workload" : "");
    return text + "}\n";
  }

 private:
  /// Reads "n=1,2,4" into `parameters_`.
  Error parameter(const std::string& text) {
    const auto [name, list] = StringRef(text).split('=');
    if (list.empty() || !parse::isName(name.str()))
      return usage("-P {}: write a name and its values, as in -P n=1,2,4", text);
    // Numbers only if printing them gives what was typed; others ("007", "1e3") stay texts. 18 digits always fit into
    // 64 bits, and 15 into a double.
    const auto are = [&](const std::string& value) {
      return std::regex_match(list.str(), std::regex(fmt::format("({0})(,({0}))*", value)));
    };
    const char* type = are("0|-?[1-9][0-9]{0,17}")                                          ? "int"
                       : are("0|-?[1-9][0-9]{0,8}|-?(0|[1-9][0-9]{0,8})\\.[0-9]{0,5}[1-9]") ? "float"
                                                                                            : "string";
    const bool numbers = type != std::string_view("string");
    llvm::SmallVector<StringRef> parts;
    list.split(parts, ',');
    std::vector<std::string> values;
    for (const StringRef part : parts) values.push_back(numbers ? part.str() : base::jsonLiteral(part));
    if (std::set(values.begin(), values.end()).size() < values.size())
      return usage("-P {}: a value is there twice", text);
    declared_ += fmt::format("param {} : {}\n", name.str(), type);
    parameters_.emplace_back(name.str(), std::move(values));
    return Error::success();
  }

  /// Returns where the last word begins that all commands share before they differ, or 0. A long command is named from
  /// there: its beginning says little about it.
  size_t shared() const {
    const std::vector<std::string>& all = options_.commands;
    size_t same = 0;
    while (std::ranges::all_of(all, [&](const auto& one) { return same < one.size() && one[same] == all[0][same]; }))
      ++same;
    const size_t apart = all[0].rfind(' ', same);
    return all.size() < 2 || apart == std::string::npos || apart == 0 ? 0 : all[0].rfind(' ', apart - 1) + 1;
  }

  /// Returns a name for the workload of a command: valid in the language and not in `names_`.
  std::string nameOf(const std::string& text) const {
    const size_t from = text.size() > kLongestName ? shared() : 0;
    std::string name =
        std::regex_replace(text.substr(from, kLongestName), std::regex("^[^A-Za-z0-9]+|[^A-Za-z0-9]+$"), "");
    name = std::regex_replace(name, std::regex("[^A-Za-z0-9]+"), "_");
    if (!parse::isName(name)) name.insert(0, "run_");
    while (is_contained(names_, name)) name += "_" + std::to_string(names_.size() + 1);
    return name;
  }

  /// Checks one command and names its workload.
  Error command(const std::string& text) {
    // A line without quotes gives as many commands as it has words, the likeliest slip; errors then say how to quote.
    const bool bare = options_.commands.size() > 1 &&
                      std::ranges::none_of(options_.commands,
                                           [](const std::string& one) { return one.find(' ') != std::string::npos; });
    const char* quotes = bare ? "; quote each command: expc bench 'gzip -6 f' 'zstd -3 f'" : "";
    if (std::ranges::count(options_.commands, text) > 1) return usage("'{}' is given twice{}", text, quotes);
    for (const auto& [name, values] : parameters_)
      if ((text + options_.before + options_.prepare).find("{" + name + "}") == std::string::npos)
        return usage("-P {0}: '{1}' has no {{{0}}} in it", name, text);
    names_.push_back(nameOf(text));
    // A missing program is said before anything is written. What a shell starts, the shell reports.
    const std::vector<std::string> words = shellWords(text);
    if (words.empty()) return usage("a command is empty");
    const bool path = words[0].find('/') != std::string::npos;
    if (isForShell(text) || words[0].find('{') != std::string::npos) return Error::success();
    if (path ? access(words[0].c_str(), X_OK) == 0 : bool(llvm::sys::findProgramByName(words[0])))
      return Error::success();
    return usage("'{}': program '{}' not found{}{}", text, words[0], path ? "" : " in PATH", quotes);
  }

  /// Returns a clause such as `command ["gzip", "-6", "f"]`, with words as they are or as `sh -c` runs them; "" for an
  /// empty text. A dollar is doubled, since `$` begins what the language replaces, and {n} becomes ${n}.
  std::string clause(const char* head, const std::string& text, bool here) const {
    std::vector<std::string> words{"sh", "-c", here ? "cd \"$EXPC_STUDY_FOLDER\" && " + text : text};
    if (text.empty()) return "";
    if (!here && !isForShell(text)) words = shellWords(text);
    for (std::string& word : words) {
      check::replaceAll(word, "$", "$$");
      for (const auto& [name, values] : parameters_) check::replaceAll(word, "{" + name + "}", "${" + name + "}");
      if (!options_.prepare.empty()) check::replaceAll(word, "{prepared}", "${prepared}");
      word = base::jsonLiteral(word);
    }
    return fmt::format("{} [{}]", head, fmt::join(words, ", "));
  }

  /// Returns the declaration of one command's workload.
  std::string workload(const std::string& name, const std::string& text) const {
    std::string made = "\n/// " + std::regex_replace(text, std::regex("\n"), " ");
    if (options_.here || isForShell(text))
      made += "\n/// Started through a shell, so its time includes the start of sh.";
    made += fmt::format("\nworkload {} {} {{\n", name, clause("command", text, options_.here));
    std::set<std::string> inputs;
    for (const std::string& one : {text, options_.before, options_.prepare}) addInputs(one, inputs);
    if (!inputs.empty()) made += fmt::format("inputs {}{}\n", options_.here ? "" : "copy ", fmt::join(inputs, ", "));
    return made + clause("prepare", options_.prepare, false) + "\n" + clause("before", options_.before, options_.here) +
           "\n" + declared_ +
           "metric wall : Time lower\nmetric cpu_time : Time lower\nmetric host_memory_peak : Bytes lower\n}\n";
  }

  /// Adds the files in this folder that a command names, as inputs to copy. A script that is run directly is not
  /// copied: it stays where it is, so that it finds what lies beside it. Parameters count as wildcards.
  void addInputs(std::string text, std::set<std::string>& inputs) const {
    static const std::regex between(R"([\s'"|&;<>()$`=,]+)"), script(R"(.*\.(py|sh|pl|rb|js|jl|R|lua|php))");
    const bool linked = !options_.here && !isForShell(text);
    for (const auto& [name, values] : parameters_) check::replaceAll(text, "{" + name + "}", "*");
    // Words as a shell sees them (names with blanks stand in quotes), and pieces between special characters.
    std::vector<std::string> words = shellWords(text);
    words.insert(words.end(), std::sregex_token_iterator(text.begin(), text.end(), between, -1), {});
    for (const std::string& word : words) {
      const std::string path = std::filesystem::path(word).lexically_normal();
      const bool outside = path.empty() || path == "." || path[0] == '/' || path.starts_with("..");
      // A parameter alone names no file.
      if (outside || path.find_first_not_of("*/.") == std::string::npos || (linked && std::regex_match(path, script)))
        continue;
      const auto files =
          expectedToOptional(files::filesMatching(std::filesystem::current_path(), path, options_.results));
      if (files && !files->empty()) inputs.insert(base::jsonLiteral(path));
    }
  }

  const BenchOptions& options_;
  /// Parameters with their values as the language writes them.
  std::vector<std::pair<std::string, std::vector<std::string>>> parameters_;
  /// Declarations of the parameters, the same in every workload.
  std::string declared_;
  std::vector<std::string> notes_;
  /// Names of the workloads, in the order of the commands.
  std::vector<std::string> names_;
};

}  // namespace

Exit bench(const BenchOptions& options, const Console& console) {
  Bench bench(options);
  TRY(bench.read());
  RunOptions run_options = options;
  // The study gets the first name that is free or already holds just this study, so that a repeated command goes on
  // with its results and never overwrites a file that the user changed.
  for (unsigned i = 1;; ++i) {
    const std::string name = i == 1 ? "bench" : fmt::format("bench_{}", i), file = name + ".exp";
    Compilation compilation;
    const auto loaded = parse::load(compilation.sources, file, bench.study(name), compilation.emitter);
    const auto text = loaded ? format::format(compilation.sources, *loaded, compilation.emitter) : std::nullopt;
    if (!text) return showDiagnostics(compilation, console), kError;
    run_options.study.file = file;
    const auto there = expectedToOptional(files::read(file, files::kMostByHand));
    const bool same = there && (*there)->getBuffer() == *text;
    // A file of that name that is another study, or cannot be read, is left alone.
    if (!same && files::isThere(file)) continue;
    if (!same) TRY(files::write(file, *text));
    console.messages(bench.notes());
    console.message(same ? fmt::format("continuing {}: measuring what is missing (--fresh starts over)", file)
                         : "wrote " + file);
    run_options.brief = true;
    return run(run_options, console);
  }
}

}  // namespace expc::cli
