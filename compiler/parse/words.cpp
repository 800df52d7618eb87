// The tables. Each row of kWords is {text, role, documentation, snippet, blocks, type}; the texts are shown to
// users as they stand. Roles must stay contiguous: `words(Role)` finds them by binary search. Properties of
// GPUs are per device, those of hosts per node.

#include "compiler/parse/words.h"

#include <algorithm>

namespace expc::words {
namespace {

using enum Role;

// Ordered by role (the order of the enumeration); the order inside a role is that of messages, and for some
// roles that of an enumeration in the checker (indexOf).
constexpr Word kWords[] = {
    // Statements, in the order in which a message lists those of a block.
    {"import", Head, "Brings in a module: `import std.image`, `import \"shared/jobs.exp\" as jobs`.", "import $0",
     File},
    {"unit", Head, "A unit of one's own: alone a new one, whose name is a type too, or that many of another.",
     "unit ${1:name}", File},
    {"ordered", Head, "Before `enum`: its levels can be compared with `<`.", "ordered enum ${1:name} { $0 }", File},
    {"enum", Head, "A type with named levels: `enum method { none, lora }`. `ordered enum` can be compared with `<`.",
     "enum ${1:name} { $0 }", File},
    {"workload", Head,
     "In a file it declares what runs: parameters, metrics, supported combinations. In a study it says what the study "
     "runs, with the parameters that stay fixed.",
     "", File | Study},
    {"version", Head, "Raised only when a workload's results or a default change.", "version ${1:1}", Workload},
    {"command", Head, "The arguments that start a program of yours; `${name}` is a parameter's value.",
     "command [\"$0\"]", Workload | Service},
    {"timeout", Head, "Time limit of a trial.", "timeout ${1:2h}", Workload},
    {"inputs", Head, "Files that a command reads. If one changes, stored results no longer count.", "inputs \"$0\"",
     Workload | Service},
    {"outputs", Head, "Where a command's metrics without `from` are read: each at its own name.",
     "outputs json(\"$0\")", Workload},
    {"prepare", Head,
     "A program that runs once before the trials, for each combination of the parameters that it gets.",
     "prepare [\"$0\"]", Workload | Service},
    {"before", Head, "A program that runs before each start of a command, in the trial's folder; it is not timed.",
     "before [\"$0\"]", Workload},
    {"exit", Head, "The exit codes that mean success; default: 0.", "exit ${1:0}", Workload},
    {"ranks", Head,
     "Starts one process of the command for each device, with RANK, WORLD_SIZE, MASTER_PORT and the like: `ranks "
     "gpus`.",
     "ranks gpus", Workload},
    {"expect", Head, "Checks the output of a command: a trial whose output is wrong does not count.",
     "expect regex(\"$0\")", Workload},
    {"service", Head,
     "In a file: a program that stays up while trials run, such as a server. In a workload: the service that its "
     "trials "
     "need; `${name.host}` and `${name.port}` are its address.",
     "service ${1:name}", File | Workload},
    {"ready", Head, "How a service shows that clients may start: `http(\"/health\")`, `tcp`, `regex(…)`, `file(…)`.",
     "ready ${1:http}(\"$0\") timeout ${2:1min}", Service},
    {"use", Head, "Takes the statements of a part, as if they stood here: `use node.four_cards`.", "use $0", Study},
    {"param", Head,
     "In a workload: a parameter, with type, range, default, and when it is active. In a study: a constant that `-D` "
     "may replace.",
     "param ${1:name} : ${2:int} = $0", Workload | Service | Study},
    {"factor", Head, "A parameter that the study varies, its levels, and the level that others are compared with.",
     "factor ${1:name} in { $0 }", Study},
    {"let", Head, "Names a value: `let total = gpus * batch`.", "let ${1:name} = $0",
     File | Workload | Service | Study},
    {"require", Head, "Keeps the points that satisfy a condition.", "require ${1:name}: $0  because \"${2:reason}\"",
     Workload | Service | Study},
    {"exclude", Head, "Leaves out the points that satisfy a condition.", "exclude $0", Workload | Service | Study},
    {"measure", Head, "Lists metrics to measure; what comparisons and criteria read is measured anyway.", "measure $0",
     Study},
    {"metric", Head,
     "In a workload: a value that a trial yields, with its type and which way is better. In a study: one computed from "
     "others. In a file: one for every workload that takes the module's metrics.",
     "", File | Workload | Service | Study},
    {"estimate", Head, "The value that a metric is expected to have before anything ran.", "estimate ${1:metric} = $0",
     Workload},
    {"compare", Head,
     "Compares a metric between the levels of a factor, all other factors equal; or reduces levels to one value, as "
     "`geomean(gain) over program` does.",
     "compare ${1:name} = ${2:speedup}(${3:metric}) over ${0:factor}", Study},
    {"control", Head, "Runs one point a second time in each block, to show how much identical runs differ.",
     "control ${1:name} = [$0]", Study},
    {"only", Head, "Keeps some of a factor's levels.", "only ${1:factor} in { $0 }", Preset},
    {"keep", Head, "Keeps only these criteria.", "keep criterion $0", Preset},
    {"remove", Head, "Leaves criteria out: by name, those `with confidence`, or all (`*`).", "remove criterion $0",
     Preset},
    {"criterion", Head, "A claim that a run decides: pass, fail or inconclusive.",
     "criterion ${1:name}: forall ${2:*}: $0", Study | Preset},
    {"confidence", Head, "Confidence of verdicts of criteria that state none.", "confidence ${0:95%}", File | Study},
    {"expected", Head,
     "The expected value of a comparison, metric or criterion, and the noise of one trial: `diagnose` assumes them, "
     "and "
     "reports show them beside verdicts.",
     "expected ${1:gain} = ${2:1.5x}  noise ${0:5%}", Study},
    {"design", Head, "How often and for how long points are measured.", "design {\n  $0\n}", File | Study | Preset},
    {"table", Head, "Shows a metric or a comparison in the report, by factors.", "table ${1:metric} by $0", Study},
    {"plot", Head, "Draws a metric or a comparison over a factor.", "plot ${1:metric} over $0", Study},
    {"system", Head, "Describes a machine, so that a study can be planned for one that is not available.",
     "system ${1:name} {\n  gpus = $0\n}", File},
    {"reference", Head, "Published values from a CSV file; a report shows measured values next to them.",
     "reference ${1:name} from \"${2:file.csv}\" {\n  $0\n}", File},
    {"preset", Head, "A named change of a study, chosen with `--preset`.", "preset ${1:quick} {\n  $0\n}",
     File | Study},
    {"part", Head, "Statements that studies share: each takes them with `use`.", "part ${1:name} {\n  $0\n}", File},
    {"study", Head, "What is varied, measured, compared and claimed.", "study ${1:name} {\n  $0\n}", File},
    // Words that continue a statement.
    {"baseline", Clause, "The level that comparisons compare with."},
    {"because", Clause, "The reason, shown with every point that the rule removes.", "because \"$0\""},
    {"by", Clause, "The step of a range (`by 2`, `by *2`), or the factors of a table."},
    {"of", Clause, "Before the metrics that a table describes, or the factors that `at least 2` counts."},
    {"over", Clause, "The factor that a comparison or plot runs over; the factors that an aggregate reduces."},
    {"against", Clause, "The level to compare with: one of the factor's, or `previous`."},
    {"partial", Clause, "Accepts that some points of the comparison have no partner."},
    {"when", Clause, "The condition under which the parameter or factor is active."},
    {"where", Clause, "Narrows what a quantifier or an aggregate ranges over."},
    {"with", Clause, "Before `confidence`.", "with confidence ${1:95%}"},
    {"confidence", Clause, "Confidence of a verdict, as in `with confidence 95%`."},
    {"always", Clause, "Every valid trial must satisfy the bound, whatever the study's confidence."},
    {"within", Clause, "A band: `within 0.9x..1.1x`.", "within $0"},
    {"inside", Clause, "After a parameter of a command: each process goes through its levels by itself."},
    {"noise", Clause, "After `expected`: the noise of one trial, as a share of its value."},
    {"until", Clause, "Repeats until an interval is narrow enough: `until half_width(gain) <= 1%`.",
     "until half_width($1) <= $0"},
    {"looks", Clause,
     "Interim analyses after these numbers of repetitions; the run stops when all claims are decided: `looks at 8, "
     "14`.",
     "looks at $0"},
    {"at", Clause, "Before the numbers of repetitions of `looks`; `at least 2 of n` is a quantifier."},
    {"from", Clause, "Where a metric of a command is read: `from regex(…)`, `json(…)`, `csv(…)`, `size(…)`, `stdout`."},
    {"in", Clause, "Is one of; before the levels of a factor."},
    {"forall", Clause, "Every point must satisfy the claim."},
    {"exists", Clause, "Some point must satisfy the claim."},
    {"least", Clause, "After `at`: at least this number, or this share, of the levels must satisfy the claim.",
     "at least ${1:90%} of $0"},
    {"infeasible", Clause, "The claim that the points cannot run: they exceed the memory."},
    {"absent", Clause,
     "The claim that no valid trial has a value of an optional metric: `absent(energy) or energy <= 5kJ`.",
     "absent($0)"},
    {"like", Clause, "Agrees with a reference, within 10 % or what `within` says."},
    {"as", Clause, "Renames an import."},
    {"command", Clause, "The arguments that start a program of yours; `${name}` is a parameter's value.",
     "command [\"$0\"]"},
    {"options", Clause,
     "All parameters that no other argument of a command holds: `options`, `options \"--{name}={value}\"`."},
    {"copy", Clause, "After `inputs`: each trial gets a copy of the file, which it may change."},
    {"timeout", Clause, "Time limit of a trial."},
    // Words of expressions.
    {"and", Operator, "Both hold."},
    {"or", Operator, "One of them holds."},
    {"not", Operator, "It does not hold."},
    {"true", Operator, "A bool."},
    {"false", Operator, "A bool."},
    // Values that one place accepts.
    {"previous", Value, "After `against`: the level before."},
    {"feasible", Value, "After `where`: leaves out points that are expected to run out of memory."},
    {"block", Value, "After `restart`: each block starts its own services."},
    {"trial", Value, "After `restart`: each trial starts its own services."},
    {"session", Value, "After `restart`: services stay up as long as the run; restarts are not covered then."},
    // Functions of `compare`, in the order of check::Comparison::Function.
    {"speedup", Comparison,
     "`speedup(metric)`: above 1x is better. Baseline / treated where lower is better, else treated / baseline.",
     "speedup($0)"},
    {"ratio", Comparison, "`ratio(metric)`: treated / baseline.", "ratio($0)"},
    {"difference", Comparison, "`difference(metric)`: treated - baseline, in the metric's unit.", "difference($0)"},
    {"efficiency", Comparison,
     "`efficiency(rate)`: (rate / baseline rate) x (baseline level / level); `efficiency(rate, weak)` leaves the "
     "second part out.",
     "efficiency($0)"},
    {"max_gap", Comparison, "`max_gap(series)`: the largest distance between two series.", "max_gap($0)"},
    {"geomean", Comparison,
     "`geomean(gain) over program`: the geometric mean over the levels of a factor; `weight = lines` weighs them.",
     "geomean($0)"},
    {"mean", Comparison, "`mean(lost) over program`: the mean over the levels of a factor; it takes a `weight` too.",
     "mean($0)"},
    {"sum", Comparison, "`sum(wall) over program`: the sum over the levels of a factor.", "sum($0)"},
    {"median", Comparison, "`median(gain) over program`: the median over the levels of a factor.", "median($0)"},
    {"min", Comparison, "`min(gain) over *`: the smallest over the levels of factors.", "min($0)"},
    {"max", Comparison, "`max(wall) over program`: the largest over the levels of factors.", "max($0)"},
    // Functions of any expression.
    {"choose", Choice,
     "`choose(condition, value, …, otherwise)`: the value after the first condition that holds, else the last one.",
     "choose($1, $2, $0)"},
    {"count", Choice, "`count(a, b, …)`: how many of the conditions hold, or how many elements a list has.",
     "count($0)"},
    {"max", Choice, "`max(a, b, …)`: the largest of numbers of one unit; a list stands for its elements.", "max($0)"},
    {"min", Choice, "`min(a, b, …)`: the smallest of numbers of one unit; a list stands for its elements.", "min($0)"},
    // Functions of one place.
    {"epochs_to", Function, "`epochs_to(series >= 97%)`: the number of epochs until a series reaches the bound.",
     "epochs_to($0)"},
    {"half_width", Function, "`half_width(comparison)`: half the width of its confidence interval.", "half_width($0)"},
    {"config", Function,
     "`config(model, \"hidden_size\")`, in estimates: a number of the model's config.json; true is 1.",
     "config($1, \"$0\")"},
    {"images", Function, "`images(data)`, in estimates: how many images there are, test images among them.",
     "images(${0:data})"},
    {"row_tokens", Function,
     "`row_tokens(\"longest\", batch, max_length, data, template, row_limit, tokenizer, model, pairs)`, in estimates: "
     "the longest row, or with `\"learnt\"` the labels of the fullest batch.",
     "row_tokens(\"${1:longest}\", $0)"},
    {"same", Function, "`same(\"out.txt\", \"golden.txt\")`, behind `expect`: two files hold the same bytes.",
     "same(\"$1\", \"$0\")"},
    {"http", Function, "`http(\"/health\")`, behind `ready`: a request of that path is answered with success.",
     "http(\"$0\")"},
    {"tcp", Function, "Behind `ready`: the service accepts connections at its port."},
    {"file", Function, "`file(\"ready\")`, behind `ready`: the service has made that file in its folder.",
     "file(\"$0\")"},
    {"column", Function, "`column(name)`: the number in that column of the CSV file.", "column($0)"},
    // Types. Enumerations and own units of a file are types too.
    {"bool", Type, "`true` or `false`."},
    {"int", Type, "A whole number."},
    {"float", Type, "A number; literals are exact."},
    {"string", Type, "A text."},
    {"path", Type, "A file or folder; relative ones start at the file that writes them."},
    {"list", Type, "`list(int)`: several values of one type, `[1, 2]`.", "list($0)"},
    {"Time", Type, "A duration: `250ms`, `24h`."},
    {"Bytes", Type, "An amount of memory: `40GiB`. GB is not GiB."},
    {"Pixels", Type, "A length in pixels: `300px`."},
    {"Images", Type, "A number of images: `64img`; `Images / Time` is a rate."},
    {"Tokens", Type, "A number of tokens: `512tok`."},
    {"Energy", Type, "An energy: `3kJ`, `1Wh`."},
    {"Operations", Type, "Floating-point operations: `4TFLOP`; `Operations / Time` is a rate."},
    {"Power", Type, "A power: `300W`."},
    {"Ratio", Type, "How many times: `1.2x`."},
    {"Share", Type, "A part of a whole: `95%`."},
    // Words behind a metric's type.
    {"lower", Trait, "Lower values are better."},
    {"higher", Trait, "Higher values are better."},
    {"timed", Trait, "Measured in timed trials, which run a stated number of steps."},
    {"quality", Trait, "Measured in quality trials, which run whole epochs."},
    {"profile", Trait, "Measured in profiled trials, which are never timed."},
    {"exact", Trait, "Does not vary by chance, such as a size in bytes."},
    {"series", Trait, "A value for each epoch or logged step."},
    {"distribution", Trait, "Many values without an order, such as latencies; a sketch of them is kept."},
    {"optional", Trait, "A command's output may lack it; claims that read it then stay undecided."},
    // Kinds of trial, in the order of plan::TrialKind.
    {"timed", Kind, "Trials that run a stated number of steps against the clock.",
     "timed { repeat ${1:10}  steps ${2:300}  warmup ${3:30} }"},
    {"quality", Kind, "Trials that train whole epochs and are judged by their result.",
     "quality { repeat ${1:3}  epochs ${2:20} }"},
    {"profile", Kind, "Trials that are profiled; their times are used for nothing else.",
     "profile { repeat ${1:1}  steps ${2:20} }"},
    // Settings of a design, and of its kinds of trial.
    {"seed", Setting, "Seed of the order of trials and of their data.", "seed ${1:7}", Design},
    {"budget", Setting, "The most trial time that a run may use.", "budget ${1:24h}", Design},
    {"repeat_disturbed", Setting, "How often a trial is attempted if something disturbs it each time.",
     "repeat_disturbed ${1:3}", Design},
    {"other_cpu", Setting, "The largest share of a trial's cores that other processes may use.", "other_cpu ${1:5%}",
     Design},
    {"other_gpu", Setting, "How many other processes may use a trial's GPUs.", "other_gpu ${1:0}", Design},
    {"throttled", Setting, "For how much of a trial its GPUs may be throttled (heat or power).", "throttled ${1:0%}",
     Design},
    {"clock_drop", Setting, "How far a GPU clock may fall below its highest value in the trial.", "clock_drop ${1:10%}",
     Design},
    {"ecc_errors", Setting, "How many uncorrectable memory errors a GPU may have.", "ecc_errors ${1:0}", Design},
    {"swapped", Setting, "How much the machine may swap during a trial.", "swapped ${1:16MiB}", Design},
    {"page_faults", Setting, "How many pages the machine may read from a disk during a trial.", "page_faults ${1:1000}",
     Design},
    {"pressure", Setting, "For how much of a trial processes may wait for memory (memory pressure).",
     "pressure ${1:1%}", Design},
    {"share", Setting, "How many blocks may run in parallel, each on its own devices.", "share ${1:4}", Design},
    {"restart", Setting, "How long services live: `block` (each block gets new ones), `trial` or `session`.",
     "restart ${1:block}", Design},
    {"repeat", Setting, "How many trials of each point: `repeat 10`, `repeat 10..20 until half_width(gain) <= 1%`.",
     "repeat ${1:10}", Design | Stepped | Whole},
    {"steps", Setting, "Training steps that a timed trial measures.", "steps ${1:300}", Design | Stepped},
    {"warmup", Setting, "Unmeasured steps before the clock starts; for a command, unmeasured starts.", "warmup ${1:30}",
     Design | Stepped},
    {"epochs", Setting, "Epochs that a quality trial trains; in other trials, passes over the data instead of steps.",
     "epochs ${1:20}", Design | Stepped | Whole},
    {"timeout", Setting, "Time limit of a trial.", "timeout ${1:2h}", Design | Stepped | Whole},
    {"takes", Setting, "The expected time of one trial, a mean over the points: `plan` shows the sum.",
     "takes ${1:2min}", Design | Stepped | Whole},
    // Readers of a command's output.
    {"regex", Source, "`regex(\"step ([0-9.]+) ms\", unit = 1ms)`: the first group in what the command prints.",
     "regex(\"$1\", unit = ${0:1ms})"},
    {"json", Source, "`json(\"out.json\", \"/api/launch\", unit = 1us)`: a value in a JSON file, by its pointer.",
     "json(\"$1\", \"$2\", unit = ${0:1s})"},
    {"csv", Source, "`csv(\"log.csv\", column = \"loss\")`: a column of a CSV file.", "csv(\"$1\", column = \"$0\")"},
    {"stdout", Source, "The number on the last line of standard output."},
    {"trial", Source, "The value that the program reports with `expc.trial().metric(…)`, in Python."},
    {"size", Source, "`size(\"out.xz\")`: the size of a file, or of all files in a folder.", "size(\"$0\")"},
    {"nccl_tests", Source, "`nccl_tests(…)`: the table of nccl-tests; a metric is the column of its name.",
     "nccl_tests(stdout)"},
    {"google_benchmark", Source,
     "`google_benchmark(…)`: results of google-benchmark as JSON; a metric is the column of its name.",
     "google_benchmark(\"out.json\")"},
    {"pytest_benchmark", Source,
     "`pytest_benchmark(…)`: results of pytest-benchmark; a metric is the column of its name.",
     "pytest_benchmark(\"out.json\")"},
    {"fio", Source, "`fio(…)`: results of fio as JSON; a metric is the column of its name.", "fio(\"out.json\")"},
    {"llama_bench", Source, "`llama_bench(…)`: results of llama-bench as JSON; a metric is the column of its name.",
     "llama_bench(stdout)"},
    {"vllm_bench", Source, "`vllm_bench(…)`: results of `vllm bench serve`; a metric is the column of its name.",
     "vllm_bench(\"out.json\")"},
    {"iperf3", Source, "`iperf3(…)`: results of `iperf3 -J`; a metric is the column of its name.", "iperf3(stdout)"},
    {"hyperfine", Source, "`hyperfine(…)`: results of hyperfine; a metric is the column of its name.",
     "hyperfine(\"out.json\")"},
    {"ready", Source, "How long a service took until it was ready, in seconds."},
    // Reductions of several numbers to one, in the order of plan::Reduction::Take.
    {"last", Taken, "`last(…)`: the last of several numbers (the default).", "last($0)"},
    {"median", Taken, "`median(regex(…))`: one number of several.", "median($0)"},
    {"mean", Taken, "`mean(…)`: one number of several.", "mean($0)"},
    {"sum", Taken, "`sum(…)`: one number of several.", "sum($0)"},
    {"min", Taken, "`min(…)`: the smallest of several numbers.", "min($0)"},
    {"max", Taken, "`max(…)`: the largest of several numbers.", "max($0)"},
    {"count", Taken, "`count(…)`: how many numbers there are.", "count($0)"},
    {"p99", Taken, "`p99(…)`, `p99.9(…)`: a percentile of several numbers; `skip`, `first`, `last` choose among them.",
     "p99($0)"},
    // The second argument of `efficiency`.
    {"strong", Scaling, "More devices for one job: the rate should grow with them."},
    {"weak", Scaling, "A job that grows with the devices: the rate should grow with them, relative to it."},
    // Axes of a series.
    {"epoch", Axis, "The places of a series, from 1: `plot loss over epoch by method` draws curves."},
    {"step", Axis, "Like `epoch`, for a series with a value for each logged step."},
    {"second", Axis, "Like `epoch`, for a series with a value for each second, as `host_memory_sampled`."},
    {"rank", Axis, "Like `epoch`, for a series with a value for each rank."},
    {"percentile", Axis, "The percentiles p1 to p99 of a distribution: `plot latency over percentile by server`."},
    // Descriptions of metrics, in the order of plan::Table::Shows.
    {"effects", Description, "`table effects of metric`: what each factor does to it, and its share of the variation."},
    {"ranking", Description, "`table ranking of metric`: the points in its order, with ties.", "ranking of $0"},
    {"front", Description, "`table front of metric, other`: the points that no other beats in both.",
     "front of ${1:metric}, $0"},
    // Properties of a system. Devices of a node are alike, so one value describes each of them.
    {"gpus", Property, "devices of a node: its GPUs; on a machine without GPUs, groups of cores", "", None, "int"},
    {"gpu.present", Property, "whether the devices are GPUs; true if one of their properties is given", "", None,
     "bool"},
    {"gpu.name", Property, "name of the device", "", None, "string"},
    {"gpu.memory", Property, "memory of one device", "", None, "Bytes"},
    {"gpu.bandwidth", Property, "memory bandwidth of one device", "", None, "Bytes / Time"},
    {"gpu.fp64", Property, "peak rate of one device in matrix products of fp64", "", None, "Operations / Time"},
    {"gpu.fp32", Property, "the same of fp32, without TF32", "", None, "Operations / Time"},
    {"gpu.tf32", Property, "the same of TF32", "", None, "Operations / Time"},
    {"gpu.bf16", Property, "the same of bf16", "", None, "Operations / Time"},
    {"gpu.fp16", Property, "the same of fp16", "", None, "Operations / Time"},
    {"gpu.link", Property, "bandwidth between one device and all others, in one direction", "", None, "Bytes / Time"},
    {"host.link", Property, "bandwidth between host and device, in one direction", "", None, "Bytes / Time"},
    {"nodes", Property, "nodes that a run may use", "", None, "int"},
    {"sockets", Property, "sockets of a node", "", None, "int"},
    {"cores", Property, "cores of a node", "", None, "int"},
    {"memory", Property, "memory of a node", "", None, "Bytes"},
};

// Sorted by type. Every type's base unit has the factor 1: seconds, bytes, joules, watts, FLOP, and so on. `%`
// is 1/100 of a Share; binary prefixes (KiB) and decimal ones (kB) differ.
constexpr Unit kUnits[] = {
    {"ns", "Time", 1, 1'000'000'000},
    {"us", "Time", 1, 1'000'000},
    {"ms", "Time", 1, 1000},
    {"s", "Time"},
    {"min", "Time", 60},
    {"h", "Time", 3600},
    {"B", "Bytes"},
    {"kB", "Bytes", 1000},
    {"MB", "Bytes", 1'000'000},
    {"GB", "Bytes", 1'000'000'000},
    {"TB", "Bytes", 1'000'000'000'000},
    {"KiB", "Bytes", 1024},
    {"MiB", "Bytes", 1'048'576},
    {"GiB", "Bytes", 1'073'741'824},
    {"TiB", "Bytes", 1'099'511'627'776},
    {"px", "Pixels"},
    {"img", "Images"},
    {"tok", "Tokens"},
    {"J", "Energy"},
    {"kJ", "Energy", 1000},
    {"Wh", "Energy", 3600},
    {"kWh", "Energy", 3'600'000},
    {"W", "Power"},
    {"kW", "Power", 1000},
    {"FLOP", "Operations"},
    {"GFLOP", "Operations", 1'000'000'000},
    {"TFLOP", "Operations", 1'000'000'000'000},
    {"PFLOP", "Operations", 1'000'000'000'000'000},
    {"x", "Ratio"},
    {"%", "Share", 1, 100},
};

/// Whether a name without context may mean a word of this role.
bool standsAlone(Role role) { return role != Role::Property && role != Role::Scaling && role != Role::Axis; }

}  // namespace

std::span<const Word> words(Role role) {
  const auto found = std::ranges::equal_range(kWords, role, {}, &Word::role);
  return {found.begin(), found.end()};
}

std::vector<const Word*> words(Role role, uint8_t blocks) {
  std::vector<const Word*> result;
  for (const Word& word : words(role))
    if (word.blocks & blocks) result.push_back(&word);
  return result;
}

std::vector<std::string> texts(Role role, uint8_t blocks) {
  std::vector<std::string> result;
  for (const Word& word : words(role))
    if (blocks == Anywhere || word.blocks & blocks) result.emplace_back(word.text);
  return result;
}

const Word* find(Role role, std::string_view text) {
  const int index = indexOf(role, text);
  return index < 0 ? nullptr : &words(role)[index];
}

const Word* find(std::string_view text) {
  const auto* found =
      std::ranges::find_if(kWords, [&](const Word& word) { return word.text == text && standsAlone(word.role); });
  return found == std::end(kWords) ? nullptr : found;
}

int indexOf(Role role, std::string_view text) {
  const std::span<const Word> all = words(role);
  const auto found = std::ranges::find(all, text, &Word::text);
  return found == all.end() ? -1 : int(found - all.begin());
}

std::span<const Unit> units() { return kUnits; }

std::vector<std::string> unitNames() {
  std::vector<std::string> result;
  for (const Unit& unit : kUnits) result.emplace_back(unit.text);
  return result;
}

const Unit* findUnit(std::string_view text) {
  const auto* found = std::ranges::find(kUnits, text, &Unit::text);
  return found == std::end(kUnits) ? nullptr : found;
}

}  // namespace expc::words
