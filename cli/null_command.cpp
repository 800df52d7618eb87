// `expc null 4x80GiB -- COMMAND…`: runs any program on simulated GPUs and returns its exit code. The null libraries do
// the work (nullgpu/): each process of the program that uses a card leaves a record in a folder of ours, also one that
// is killed. This file starts the program, reads the records, and prints them. Nothing here is a measurement.

#include <fcntl.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Program.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "nullgpu/core/counters_api.h"
#include "runtime/base/files/files.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/numbers.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/machine/gpus.h"
#include "runtime/rehearsal/records.h"
#include "runtime/report/document.h"

namespace expc::cli {

using json::Object;
namespace {

/// Exit codes of `env`, `timeout` and shells for a command that did not run.
constexpr int kNotStarted = 125, kNotExecutable = 126, kNotFound = 127;
/// Places that the table of waits shows.
constexpr size_t kMostPlaces = 10;

/// The running program, for the handler of signals; 0 before and after.
volatile sig_atomic_t running = 0;

/// Passes signals on that only this process gets. Those of a terminal reach the program by themselves.
class PassSignals {
 public:
  explicit PassSignals(pid_t child) {
    running = child;
    struct sigaction pass{}, ignore{};
    pass.sa_handler = [](int signal) {
      if (running > 0) kill(pid_t(running), signal);
    };
    ignore.sa_handler = SIG_IGN;
    for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaction(signal, &pass, nullptr);
    for (const int signal : {SIGINT, SIGQUIT}) sigaction(signal, &ignore, nullptr);
  }
  ~PassSignals() { running = 0; }
  PassSignals(const PassSignals&) = delete;
  PassSignals& operator=(const PassSignals&) = delete;
};

/// Starts a program with more variables, and waits for it. With `aside` its standard output goes to standard error.
/// Returns its exit code, or as a shell does 128 plus the signal that ended it.
int runToEnd(const std::string& program, const std::vector<std::string>& words,
             const std::vector<std::string>& variables, bool aside) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return kNotStarted;
  if (child == 0) {
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);  // expc ignores them, programs do not
    for (const std::string& variable : variables) putenv(const_cast<char*>(variable.c_str()));
    if (aside) dup2(STDERR_FILENO, STDOUT_FILENO);
    execv(program.c_str(), arguments.data());
    const int code = errno;
    dprintf(STDERR_FILENO, "expc: error: null: %s: %s\n", program.c_str(), std::strerror(code));
    _exit(code == ENOENT ? kNotFound : kNotExecutable);
  }
  const PassSignals pass(child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return kNotStarted;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Asks the null nvidia-smi for the cards, whose libraries read all variables. Returns "", or what it says against
/// them.
std::string refusedBy(const std::filesystem::path& smi, const std::vector<std::string>& variables,
                      const std::string& log) {
  if (!std::filesystem::exists(smi)) return "";
  std::vector<StringRef> environment(variables.begin(), variables.end());
  const StringRef words[] = {smi.native(), "-L"};
  const std::optional<StringRef> streams[] = {"", "", StringRef(log)};
  if (llvm::sys::ExecuteAndWait(smi.string(), words, ArrayRef(environment), streams) == 0) return "";
  return files::lastWords(log);
}

/// A torch that an interpreter finds; both are "" if there is none.
struct Torch {
  std::string cuda;  // the version that it was built for, as "12.4"; "" if for none
  std::string sentence;
};

/// Reads the torch that the interpreter of a program finds, without importing it: that of a Python, or of a script
/// whose first line names one.
Torch torchOf(const std::string& program, const std::string& log) {
  std::string python = program;
  const auto script = expectedToOptional(files::read(program));
  const StringRef text = script ? (*script)->getBuffer() : "";
  if (text.starts_with("#!")) python = text.substr(2, text.find('\n') - 2).trim().str();
  if (!StringRef(python).substr(python.rfind('/') + 1).starts_with("python")) return {};
  constexpr const char* kAsk =
      "import importlib.util, pathlib, sys\n"
      "found, told = importlib.util.find_spec('torch'), {}\n"
      "if found and found.origin:\n"
      "  exec(pathlib.Path(found.origin).with_name('version.py').read_text(), {'__name__': 'version'}, told)\n"
      "  cuda = told.get('cuda')\n"
      "  print(cuda or '')\n"
      "  print(sys.executable, 'has torch', told['__version__'], 'for CUDA ' + cuda if cuda else 'without CUDA', "
      "end='.')";
  const StringRef words[] = {python, "-c", kAsk};
  const std::optional<StringRef> streams[] = {"", StringRef(log), ""};
  if (llvm::sys::ExecuteAndWait(python, words, std::nullopt, streams, /*SecondsToWait=*/60) != 0) return {};
  const auto said = expectedToOptional(files::read(log));
  const auto [cuda, sentence] = (said ? (*said)->getBuffer() : "").split('\n');
  return {cuda.str(), sentence.str()};
}

std::string bytesText(uint64_t bytes) { return base::formatQuantity(double(bytes), "B"); }
std::string countText(uint64_t count) { return base::formatQuantity(double(count), ""); }
std::string secondsText(uint64_t nanoseconds) { return base::formatQuantity(double(nanoseconds) * 1e-9, "s"); }

/// "3 (12.0 MiB)".
std::string trafficText(uint64_t calls, uint64_t bytes) {
  return calls == 0 ? "0" : fmt::format("{} ({})", countText(calls), bytesText(bytes));
}

/// "rank 0", or the command line of a process without a rank, in which paths are short: "python3 train.py". The command
/// lines of processes that Python's multiprocessing spawns are all alike and say nothing.
std::string nameOf(const nullgpu_record& record) {
  if (record.rank >= 0) return fmt::format("rank {}", record.rank);
  if (StringRef(record.program).contains("multiprocessing.spawn")) return fmt::format("spawned process {}", record.pid);
  llvm::SmallVector<StringRef> words;
  StringRef(record.program).split(words, ' ');
  return base::joined(base::textsOf(words, [](StringRef word) { return word.substr(word.rfind('/') + 1).str(); }), " ");
}

/// The members of counters_api.h's array of copies that tables and JSON have.
constexpr std::pair<const char*, size_t> kCopies[] = {
    {"to_card", 1}, {"from_card", 2}, {"within_card", 3}, {"between_cards", 4}, {"sets", 5}};

/// A table whose first column names things, `widest` columns of a terminal at most, and whose others are numbers.
report::Table tableOf(const std::string& of, unsigned widest, const std::vector<std::string>& columns) {
  report::Table table;
  table.label = of;
  table.columns = {{of, report::Column::Kind::Label, report::Shown::Everywhere, widest}};
  for (const std::string& column : columns) table.columns.push_back({column});
  return table;
}

void addRow(report::Table& table, const std::vector<std::string>& texts) {
  report::Row& row = table.rows.emplace_back();
  for (const std::string& text : texts) row.add(text);
  ++table.all;
}

/// A row for each card that a process used.
report::Table memoryOf(const std::vector<nullgpu_record>& records) {
  report::Table table = tableOf("process", 40, {"card", "peak", "tensors"});
  for (const nullgpu_record& record : records)
    for (size_t card = 0; card < NULLGPU_RECORD_CARDS; ++card)
      if (const nullgpu_card_record& of = record.cards[card]; of.opened)
        addRow(table,
               {nameOf(record), std::to_string(card), bytesText(of.peak), of.reserved ? bytesText(of.allocated) : "–"});
  return table;
}

/// A row for each process.
report::Table workOf(const std::vector<nullgpu_record>& records) {
  report::Table table = tableOf("process", 28, {"launches", "to card", "from card", "collectives", "waits", "waited"});
  for (const nullgpu_record& record : records) {
    uint64_t calls = 0, bytes = 0;
    for (const auto& each : record.collectives) calls += each.calls, bytes += each.bytes;
    addRow(table,
           {nameOf(record), countText(record.launches), trafficText(record.copies[1].calls, record.copies[1].bytes),
            trafficText(record.copies[2].calls, record.copies[2].bytes), trafficText(calls, bytes),
            countText(record.synchronizations), secondsText(record.waited)});
  }
  return table;
}

/// The places of all processes together, the longest wait first.
report::Table placesOf(const std::vector<nullgpu_record>& records) {
  struct Place {
    std::string at;
    uint64_t waits = 0, nanoseconds = 0;
  };
  std::map<std::string, Place> by_name;
  for (const nullgpu_record& record : records)
    for (const nullgpu_place& each : record.places) {
      if (each.at[0] == '\0') break;
      Place& place = by_name[each.at];
      place.at = each.at;
      place.waits += each.waits;
      place.nanoseconds += each.nanoseconds;
    }
  std::vector<Place> places;
  for (const auto& [name, place] : by_name) places.push_back(place);
  std::ranges::stable_sort(places, std::greater(), &Place::nanoseconds);
  report::Table table = tableOf("line", 70, {"waits", "waited"});
  for (const Place& place : places)
    if (table.rows.size() < kMostPlaces)
      addRow(table, {place.at, countText(place.waits), secondsText(place.nanoseconds)});
  return table;
}

/// Names of the owners of tensors, by their number in counters_api.h.
constexpr const char* kOwners[NULLGPU_OWNERS] = {"parameters", "gradients", "optimizer", "variables", "activations"};

/// "Its tensors: parameters 1.00 GiB, gradients 1.00 GiB, …", from the largest; empty if torch told nothing.
std::string ownersText(const nullgpu_card_record& card) {
  std::vector<std::pair<uint64_t, std::string>> owners;
  for (size_t owner = 0; owner < NULLGPU_OWNERS; ++owner)
    if (card.owners[owner]) owners.emplace_back(card.owners[owner], kOwners[owner]);
  std::ranges::stable_sort(owners, std::greater(), &std::pair<uint64_t, std::string>::first);
  const auto text = [](const auto& owner) { return owner.second + " " + bytesText(owner.first); };
  return base::framed(" Its tensors: ", base::joined(base::textsOf(owners, text)), ".");
}

/// Whether the peak grew all the time: in each quarter of the work behind the first by about as
/// much, and by a tenth in all.
bool growsSteadily(const nullgpu_record& record) {
  constexpr uint64_t kFewest = 16;
  const uint64_t count = record.sampled;
  if (count < kFewest || count > NULLGPU_RECORD_SAMPLES) return false;
  const auto after = [&](uint64_t quarters) { return record.samples[quarters * count / 4 - 1]; };
  const uint64_t grown[] = {after(2) - after(1), after(3) - after(2), after(4) - after(3)};
  const auto [least, most] = std::ranges::minmax(grown);
  return 2 * least >= most && 10 * (after(4) - after(1)) >= after(4) && least > 0;
}

/// Sentences about cards that several ranks use, and about memory that grows.
std::vector<std::string> habitsOf(const std::vector<nullgpu_record>& records) {
  std::vector<std::string> habits;
  for (size_t card = 0; card < NULLGPU_RECORD_CARDS; ++card) {
    std::vector<std::string> names;
    for (const nullgpu_record& record : records)
      if (record.rank >= 0 && record.cards[card].peak > 0) base::addOnce(names, nameOf(record));
    if (names.size() > 1)
      habits.push_back(
          fmt::format("card {}: {} all keep memory on it. A rank that should use another card misses "
                      "`torch.cuda.set_device(local_rank)`, or a `map_location` for `torch.load`.",
                      card, base::joined(names, " and ")));
  }
  for (const nullgpu_record& record : records)
    if (growsSteadily(record))
      habits.push_back(fmt::format(
          "{}: memory grew until the end, from {} after a quarter of the work to {}. If these are steps, each "
          "leaves tensors behind, such as a loss that is kept with its graph: keep `loss.detach()`.",
          nameOf(record), bytesText(record.samples[record.sampled / 4 - 1]),
          bytesText(record.samples[record.sampled - 1])));
  return habits;
}

/// Sentences about processes that ran out of memory or were killed.
std::vector<std::string> remarksOf(const std::vector<nullgpu_record>& records, unsigned cards) {
  std::vector<std::string> remarks;
  for (const nullgpu_record& record : records) {
    for (size_t card = 0; card < NULLGPU_RECORD_CARDS; ++card) {
      const nullgpu_card_record& of = record.cards[card];
      if (of.refused == 0) continue;
      constexpr uint64_t kGiB = uint64_t{1} << 30;
      remarks.push_back(fmt::format(
          "{}: card {} was out of memory: {} were held and {} more were asked for. That request needs a card of at "
          "least {}; `expc null {}x{}GiB` shows the peak beyond it.{}",
          nameOf(record), card, bytesText(of.held), bytesText(of.refused), bytesText(rehearsal::leastCard(of)), cards,
          2 * (rehearsal::leastCard(of) / kGiB + 1), ownersText(of)));
    }
    if (!record.ended)
      remarks.push_back(
          fmt::format("{}: ended without its exit handlers (a signal or _exit), so its allocator's peaks are unknown.",
                      nameOf(record)));
  }
  return remarks;
}

std::string textOf(const std::vector<nullgpu_record>& records, unsigned cards, unsigned width, bool colour) {
  std::vector<report::Block> blocks;
  const auto add = [&](const char* title, const char* rest, std::vector<report::Block> inside) {
    report::Part part;
    part.title = title;
    part.rest = rest;
    part.blocks = std::move(inside);
    blocks.emplace_back(std::move(part));
  };
  std::vector<report::Block> memory = {memoryOf(records)};
  report::append(memory, report::sentences(remarksOf(records, cards)));
  report::append(memory, report::sentences(habitsOf(records)));
  const bool torch = std::ranges::any_of(records, [](const nullgpu_record& record) {
    return std::ranges::any_of(record.cards, [](const nullgpu_card_record& card) { return card.reserved > 0; });
  });
  add("memory of simulated GPUs", torch ? "tensors include workspace of cuBLAS: 32 MiB a thread" : "",
      std::move(memory));
  add("work", "nothing was computed; times are the host's alone", {workOf(records)});
  if (report::Table places = placesOf(records); !places.rows.empty())
    add("where the host waits", "", {std::move(places)});
  return report::documentText(blocks, width, colour);
}

Object traffic(uint64_t calls, uint64_t bytes) { return Object{{"calls", calls}, {"bytes", bytes}}; }

Object cardJson(size_t number, const nullgpu_card_record& card) {
  Object json{{"card", number}, {"peak_bytes", card.peak}};
  if (card.reserved) json["torch"] = Object{{"allocated_bytes", card.allocated}, {"reserved_bytes", card.reserved}};
  if (card.refused) {
    Object told{
        {"held_bytes", card.held}, {"asked_bytes", card.refused}, {"least_card_bytes", rehearsal::leastCard(card)}};
    for (size_t owner = 0; owner < NULLGPU_OWNERS; ++owner)
      if (card.owners[owner]) told[fmt::format("{}_bytes", kOwners[owner])] = card.owners[owner];
    json["out_of_memory"] = std::move(told);
  }
  return json;
}

Object processJson(const nullgpu_record& record) {
  Object copies, collectives;
  for (const auto& [name, index] : kCopies)
    copies[name] = traffic(record.copies[index].calls, record.copies[index].bytes);
  for (const auto& each : record.collectives)
    if (each.name[0]) collectives[each.name] = traffic(each.calls, each.bytes);
  json::Array cards, places;
  for (size_t card = 0; card < NULLGPU_RECORD_CARDS; ++card)
    if (record.cards[card].opened) cards.push_back(cardJson(card, record.cards[card]));
  for (const nullgpu_place& each : record.places)
    if (each.at[0])
      places.push_back(
          Object{{"at", jsonText(each.at)}, {"waits", each.waits}, {"seconds", double(each.nanoseconds) * 1e-9}});
  Object json{{"pid", record.pid},
              {"program", jsonText(record.program)},
              {"ended", record.ended == 1},
              {"cards", std::move(cards)},
              {"launches", record.launches},
              {"allocations", record.allocations},
              {"copies", std::move(copies)},
              {"collectives", std::move(collectives)},
              {"waits", record.synchronizations},
              {"waited_seconds", double(record.waited) * 1e-9},
              {"places", std::move(places)},
              {"grows", growsSteadily(record)}};
  if (record.rank >= 0) json["rank"] = record.rank;
  return json;
}

/// Returns the document "expc.null/1".
std::string jsonOf(const std::vector<nullgpu_record>& records, int code) {
  json::Array processes;
  for (const nullgpu_record& record : records) processes.push_back(processJson(record));
  return base::prettyJson(Object{{"schema", "expc.null/1"}, {"exit_code", code}, {"processes", std::move(processes)}});
}

/// The variables under which a program finds the cards and leaves its records in `folder`.
std::vector<std::string> variablesOf(const NullOptions& options, const machine::NullGpus& cards,
                                     const std::string& folder) {
  Machine machine;
  machine.null_gpus = cards;
  machine.nvml_library = std::filesystem::absolute(cards.library);
  std::vector<std::string> variables = machine::nullEnvironment(machine, folder + "/machine");
  variables.push_back("NULLGPU_RECORD=" + folder + "/records");
  if (!options.faults.empty()) variables.push_back("NULLGPU_FAULTS=" + options.faults);
  if (const char* python = std::getenv("PYTHONPATH")) variables.push_back(std::string("PYTHONPATH=") + python);
  base::addPythonPackage(variables);
  const char* path = std::getenv("PATH");
  variables.push_back(fmt::format("PATH={}/bin:{}", std::filesystem::path(machine.nvml_library).parent_path().string(),
                                  path ? path : "/usr/bin:/bin"));
  return variables;
}

}  // namespace

Exit null(const NullOptions& options, const Console& console) {
  if (options.command.empty())
    return usage("null: the command stands behind --, as in expc null 4x80GiB -- python3 train.py");
  MachineOptions machine;
  machine.null_gpus = options.cards;
  auto found = nullGpusOf(machine);
  if (!found) return ended(kNotStarted, "{}", toString(found.takeError()));
  const machine::NullGpus& cards = **found;
  if (cards.cards == 0) return usage("null: expected a number of GPUs, as in 4 or 4x80GiB");
  const llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(options.command.front());
  if (!program) return ended(kNotFound, "null: {}: there is no such program", options.command.front());
  const files::TemporaryFolder folder;
  if (folder.path().empty()) return ended(kNotStarted, "null: no temporary folder: {}", std::strerror(errno));
  std::filesystem::create_directory(folder.path() + "/records");
  const std::vector<std::string> variables = variablesOf(options, cards, folder.path());
  const std::filesystem::path smi = std::filesystem::path(cards.library).parent_path() / "bin/nvidia-smi";
  if (const std::string refused = refusedBy(smi, variables, folder.path() + "/log"); !refused.empty())
    return ended(kNotStarted, "null: {}", refused);
  const Torch torch = torchOf(*program, folder.path() + "/torch");
  if (!torch.cuda.empty() && !torch.cuda.starts_with("12.") && !torch.cuda.starts_with("13."))
    return ended(kNotStarted,
                 "null: {} Simulated GPUs stand in for CUDA 12 and 13: install a torch for one of "
                 "them, such as PyPI's since 2.6",
                 torch.sentence);
  const bool json = options.format == Format::Json;
  const int code = runToEnd(*program, options.command, variables, json);
  const std::vector<nullgpu_record> records = rehearsal::recordsIn(folder.path() + "/records");
  if (records.empty())
    console.message(
        "expc: null: the command ended with exit code {}, and no process of it used a simulated GPU. {}.{}{}", code,
        rehearsal::kStandFor, torch.sentence.empty() ? "" : " ", torch.sentence);
  if (json) return console.finish(jsonOf(records, code) + "\n", code);
  if (!records.empty()) console.rendered(textOf(records, cards.cards, console.width(), console.colourErr()));
  return code;
}

}  // namespace expc::cli
