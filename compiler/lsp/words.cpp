#include "compiler/lsp/words.h"

#include "compiler/parse/blocks.h"
#include "compiler/value/system.h"

namespace expc::lsp {

const std::vector<Word>& statementWords() {
  static const std::vector<Word> words = {
      {"import", "Brings in a module: `import std.image`, `import \"shared/jobs.exp\" as jobs`.", "import $0"},
      {"enum", "A type with named levels: `enum method { none, lora }`. `ordered enum` can be compared with `<`.",
       "enum ${1:name} { $0 }"},
      {"ordered", "Before `enum`: its levels can be compared with `<`.", "ordered enum ${1:name} { $0 }"},
      {"let", "Names a value: `let total = gpus * batch`.", "let ${1:name} = $0"},
      {"workload",
       "In a file it declares what runs: parameters, metrics, supported combinations. In a study it says what the "
       "study "
       "runs, with the parameters that stay fixed.",
       ""},
      {"system", "Describes a machine, so that a study can be planned for one that is not at hand.",
       "system ${1:name} {\n  gpus = $0\n}"},
      {"reference", "Published values, read from a CSV file: a report shows ours beside them.",
       "reference ${1:name} from \"${2:file.csv}\" {\n  $0\n}"},
      {"preset", "A smaller or larger variant of a study, chosen with `--preset`.", "preset ${1:quick} {\n  $0\n}"},
      {"study", "A grid of points, how they are measured, and what would count as success.",
       "study ${1:name} {\n  $0\n}"},
      {"version", "Raised only when a workload's results would change or a default changes.", "version ${1:1}"},
      {"param", "A parameter of a workload: type, range, default, and when it is active.",
       "param ${1:name} : ${2:int} = $0"},
      {"metric",
       "In a workload: a value that a trial yields, with its type and which way is better. In a study: one computed "
       "from "
       "others.",
       ""},
      {"estimate", "The value that a metric is expected to have before anything ran.", "estimate ${1:metric} = $0"},
      {"inputs", "Files that a command reads; a change of theirs makes stored results stale.", "inputs \"$0\""},
      {"outputs", "Where a command's metrics are read that do not say it: each at its own name.",
       "outputs json(\"$0\")"},
      {"prepare", "A program that runs once before the trials, for each combination of the parameters it is told.",
       "prepare [\"$0\"]"},
      {"expect", "What a command's output must be: a trial whose output is not so does not count.",
       "expect regex(\"$0\")"},
      {"require", "Keeps the points that satisfy a condition.", "require ${1:name}: $0  because \"${2:reason}\""},
      {"exclude", "Leaves out the points that satisfy a condition.", "exclude $0"},
      {"factor", "A parameter that the study varies, its levels, and the level that others are compared with.",
       "factor ${1:name} in { $0 }"},
      {"measure", "Lists metrics to measure; what comparisons and criteria read is measured anyway.", "measure $0"},
      {"compare", "Compares a metric between the levels of a factor, all other factors equal.",
       "compare ${1:name} = ${2:speedup}(${3:metric}) over ${0:factor}"},
      {"control", "A second label on one point: it should differ from it by noise alone.", "control ${1:name} = [$0]"},
      {"criterion", "A claim that a run decides: pass, fail or inconclusive.",
       "criterion ${1:name}: forall ${2:*}: $0"},
      {"design", "How often and for how long points are measured.", "design full {\n  $0\n}"},
      {"table", "Shows a metric or a comparison in the report, by factors.", "table ${1:metric} by $0"},
      {"plot", "Draws a metric or a comparison over a factor.", "plot ${1:metric} over $0"},
      {"only", "Keeps some of a factor's levels.", "only ${1:factor} in { $0 }"},
      {"remove", "Leaves criteria out.", "remove criterion $0"},
  };
  return words;
}

const std::vector<Word>& clauseWords() {
  static const std::vector<Word> words = {
      {"baseline", "The level that comparisons take as the other side.", ""},
      {"because", "The reason, shown with every point that the rule removes.", "because \"$0\""},
      {"by", "The step of a range (`by 2`, `by *2`), or the factors of a table.", ""},
      {"over", "The factor that a comparison or plot runs over.", ""},
      {"against", "The level to compare with: one of the factor's, or `previous`.", ""},
      {"when", "The condition under which it is active.", ""},
      {"where", "Narrows what a quantifier ranges over.", ""},
      {"with", "Before `confidence`.", "with confidence ${1:95%}"},
      {"confidence", "How sure a verdict has to be, as in `with confidence 95%`.", ""},
      {"within", "A band: `within 0.9x..1.1x`.", "within $0"},
      {"until", "Repeats until an interval is narrow enough: `until half_width(gain) <= 1%`.",
       "until half_width($1) <= $0"},
      {"from", "Where a metric of a command is read: `from regex(…)`, `json(…)`, `csv(…)`, `size(…)`, `stdout`.", ""},
      {"in", "Is one of; before the levels of a factor.", ""},
      {"and", "Both hold.", ""},
      {"or", "One of them holds.", ""},
      {"not", "It does not hold.", ""},
      {"forall", "Every point must satisfy the claim.", ""},
      {"exists", "Some point must satisfy the claim.", ""},
      {"infeasible", "The claim that the points cannot run: they exceed the memory.", ""},
      {"like", "Agrees with a reference, within 10 % or what `within` says.", ""},
      {"previous", "After `against`: the level before.", ""},
      {"as", "Renames an import.", ""},
      {"true", "A bool.", ""},
      {"false", "A bool.", ""},
      {"command", "The arguments that start a program of yours; `${name}` is a parameter's value.", "command [\"$0\"]"},
      {"timeout", "After how long a trial is given up.", ""},
      {"blocks", "Each block runs every point once, in a fresh order.", ""},
      {"full", "The design that measures every point of the grid.", ""},
  };
  return words;
}

const std::vector<Word>& functionWords() {
  static const std::vector<Word> words = {
      {"speedup",
       "`speedup(metric)`: above 1x is better. Baseline / treated where lower is better, else treated / baseline.",
       "speedup($0)"},
      {"ratio", "`ratio(metric)`: treated / baseline.", "ratio($0)"},
      {"difference", "`difference(metric)`: treated - baseline, in the metric's unit.", "difference($0)"},
      {"efficiency",
       "`efficiency(rate)`: (rate / baseline rate) x (baseline level / level); `efficiency(rate, weak)` leaves the "
       "second "
       "part out.",
       "efficiency($0)"},
      {"max_gap", "`max_gap(series)`: the largest distance between two series.", "max_gap($0)"},
      {"epochs_to", "`epochs_to(series >= 97%)`: after how many epochs a series gets there.", "epochs_to($0)"},
      {"half_width", "`half_width(comparison)`: half the width of its confidence interval.", "half_width($0)"},
      {"config", "`config(model, \"hidden_size\")`, in estimates: a number of the model's config.json; true is 1.",
       "config($1, \"$0\")"},
      {"row_tokens",
       "`row_tokens(\"longest\", batch, max_length, data, template, row_limit, tokenizer, model, pairs)`, in "
       "estimates: "
       "the longest row, or with `\"learnt\"` the labels of the fullest batch.",
       "row_tokens(\"${1:longest}\", $0)"},
      {"column", "`column(\"name\", unit = 1s)`: a column of the CSV file.", "column(\"$0\")"},
  };
  return words;
}

const std::vector<Word>& typeWords() {
  static const std::vector<Word> words = {
      {"bool", "`true` or `false`.", ""},
      {"int", "A whole number.", ""},
      {"float", "A number; literals are exact.", ""},
      {"string", "A text.", ""},
      {"path", "A file or folder; relative ones start at the file that writes them.", ""},
      {"list", "`list(int)`: several values of one type, `[1, 2]`.", "list($0)"},
      {"Time", "A duration: `250ms`, `24h`.", ""},
      {"Bytes", "An amount of memory: `40GiB`. GB is not GiB.", ""},
      {"Pixels", "A length in pixels: `300px`.", ""},
      {"Images", "A number of images: `64img`; `Images / Time` is a rate.", ""},
      {"Tokens", "A number of tokens: `512tok`.", ""},
      {"Energy", "An energy: `3kJ`, `1Wh`.", ""},
      {"Operations", "Floating-point operations: `4TFLOP`; `Operations / Time` is a rate.", ""},
      {"Power", "A power: `300W`.", ""},
      {"Ratio", "How many times: `1.2x`.", ""},
      {"Share", "A part of a whole: `95%`.", ""},
      {"Series", "A plain number for each epoch or logged step.", ""},
  };
  return words;
}

const std::vector<Word>& traitWords() {
  static const std::vector<Word> words = {
      {"lower", "Lower values are better.", ""},
      {"higher", "Higher values are better.", ""},
      {"exact", "Bytes and counts: compared as they are.", ""},
      {"series", "A value for each epoch or logged step.", ""},
      {"timed", "Measured in timed trials, which run a stated number of steps.", ""},
      {"quality", "Measured in quality trials, which run whole epochs.", ""},
      {"profile", "Measured in profiled trials, which are never timed.", ""},
  };
  return words;
}

const std::vector<Word>& settingWords() {
  static const std::vector<Word> words = {
      {"repeat", "How many trials of each point: `repeat 10`, `repeat 10..20 until half_width(gain) <= 1%`.",
       "repeat ${1:10}"},
      {"steps", "Training steps that a timed trial measures.", "steps ${1:300}"},
      {"warmup", "Steps before the clock starts.", "warmup ${1:30}"},
      {"epochs", "Epochs that a quality trial trains.", "epochs ${1:20}"},
      {"order", "`order blocks`: each block runs every point once, in a fresh order.", "order blocks"},
      {"seed", "What the order of the trials and their data are drawn from.", "seed ${1:7}"},
      {"budget", "The most time that the plan may take.", "budget ${1:24h}"},
  };
  return words;
}

const std::vector<Word>& kindWords() {
  static const std::vector<Word> words = {
      {"timed", "Trials that run a stated number of steps against the clock.",
       "timed { repeat ${1:10}  steps ${2:300}  warmup ${3:30} }"},
      {"quality", "Trials that train whole epochs and are judged by their result.",
       "quality { repeat ${1:3}  epochs ${2:20} }"},
      {"profile", "Trials that are profiled; their times count for nothing else.",
       "profile { repeat ${1:1}  steps ${2:20} }"},
  };
  return words;
}

const std::vector<Word>& systemWords() {
  static const std::vector<Word> words = [] {
    std::vector<Word> found;
    for (const check::SystemProperty& property : check::systemProperties())
      found.push_back({property.name, property.doc, ""});
    return found;
  }();
  return words;
}

const std::vector<Word>& sourceWords() {
  static const std::vector<Word> words = {
      {"regex", "`regex(\"step ([0-9.]+) ms\", unit = 1ms)`: the first group in what the command prints.",
       "regex(\"$1\", unit = ${0:1ms})"},
      {"json", "`json(\"out.json\", \"/api/launch\", unit = 1us)`: a value in a JSON file, by its pointer.",
       "json(\"$1\", \"$2\", unit = ${0:1s})"},
      {"csv", "`csv(\"log.csv\", column = \"loss\")`: a column of a CSV file.", "csv(\"$1\", column = \"$0\")"},
      {"stdout", "The number on the last line of standard output.", ""},
      {"size", "`size(\"out.xz\")`: the bytes of a file, or of all below a folder.", "size(\"$0\")"},
      {"median", "`median(regex(…))`: one number of several; also mean, sum, last, min and max.", "median($0)"},
  };
  return words;
}

const Word* findWord(const std::vector<Word>& words, std::string_view text) {
  for (const Word& word : words)
    if (word.text == text) return &word;
  return nullptr;
}

const Word* findWord(std::string_view text) {
  for (const auto* words : {&statementWords(), &clauseWords(), &functionWords(), &typeWords(), &traitWords(),
                            &settingWords(), &kindWords(), &sourceWords()})
    if (const Word* found = findWord(*words, text)) return found;
  return nullptr;
}

std::vector<const Word*> headsIn(parse::Rule block) {
  static constexpr std::string_view kContextual[] = {"ordered", "version", "inputs", "estimate",
                                                     "outputs", "prepare", "expect"};
  std::vector<const Word*> result;
  for (const Word& word : statementWords()) {
    bool contextual = false;
    for (const std::string_view text : kContextual) contextual |= word.text == text;
    if (contextual) {
      const bool in_file = word.text == "ordered";
      if (block == (in_file ? parse::Rule::File : parse::Rule::WorkloadBody)) result.push_back(&word);
      continue;
    }
    for (const parse::Token token : parse::headsOf(block))
      if (parse::spelling(token) == word.text) result.push_back(&word);
  }
  return result;
}

}  // namespace expc::lsp
