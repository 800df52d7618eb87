#include "runtime/engine/agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "runtime/engine/agent_messages.h"
#include "runtime/engine/heat_up.h"
#include "runtime/engine/line_socket.h"
#include "runtime/engine/local_launcher.h"
#include "runtime/engine/scratch.h"
#include "runtime/machine/leases.h"
#include "runtime/machine/wire.h"
#include "runtime/plan/json.h"

namespace expc::engine {
namespace {

using llvm::json::Object;
using llvm::json::Value;

constexpr int kPatienceMs = 60000;  // of the engine, until it has proved who it is

volatile std::sig_atomic_t told_to_end = 0;

/// Slurm's name of this node, else the host's.
std::string nodeName(const machine::Machine& machine) {
  const char* name = std::getenv("SLURMD_NODENAME");
  return name ? name : machine.host;
}

/// The next line; nothing where the connection ended.
std::optional<Value> nextLine(LineSocket& socket) {
  pollfd wait{socket.fd(), POLLIN, 0};
  while (socket.isOpen()) {
    if (poll(&wait, 1, kPatienceMs) == 0) socket.close();
    for (const std::string& line : socket.receive()) {
      auto value = plan::parseJson(line);
      if (value) return std::move(*value);
      llvm::consumeError(value.takeError());
      socket.close();
    }
  }
  return std::nullopt;
}

std::string word(const std::optional<Value>& message, const char* key) {
  const Object* object = message ? message->getAsObject() : nullptr;
  return object ? object->getString(key).value_or("").str() : "";
}

/// Each side proves that it knows the secret; then the engine knows this machine.
llvm::Error introduce(LineSocket& socket, const std::string& secret, const machine::Machine& machine) {
  const std::string asked = randomWord();
  socket.send(Object{{"v", kAgentVersion}, {"hello", asked}});
  const std::optional<Value> answer = nextLine(socket);
  const std::string answered = word(answer, "asked");
  if (word(answer, "proof") != proofOf(secret, "engine", asked, answered))
    return llvm::createStringError("what answers at the engine's address is not the engine of this run");
  const char* order = std::getenv("SLURM_PROCID");
  const bool sent = socket.send(Object{{"proof", proofOf(secret, "agent", asked, answered)},
                                       {"name", nodeName(machine)},
                                       {"interface", socket.interface()},
                                       {"order", order ? std::atoi(order) : 0},
                                       {"machine", machine::toWire(machine)}});
  return sent ? llvm::Error::success() : llvm::createStringError("the engine ended the connection");
}

class Agent {
 public:
  Agent(LineSocket& socket, const machine::Machine& machine) : socket_(socket), machine_(machine) {}

  void serve() {
    while (socket_.isOpen()) {
      report();
      if (told_to_end) break;
      for (const std::string& line : socket_.receive()) {
        if (auto error = take(line)) {
          socket_.send(Object{{"error", llvm::toString(std::move(error))}});
          return;
        }
      }
    }
  }

 private:
  /// Waits for what happens, and tells it.
  void report() {
    if (!launcher_) {
      pollfd wait{socket_.fd(), POLLIN, 0};
      poll(&wait, 1, -1);
      return;
    }
    auto reports = launcher_->events(clock_.boot() + kLongestWait, socket_.fd());
    // Who ended this agent ended its ranks, too, so how these end says nothing of them.
    if (told_to_end) {
      socket_.send(Object{{"error", "its agent was told to end"}});
      return;
    }
    if (!reports) {
      socket_.send(Object{{"error", llvm::toString(reports.takeError())}});
      return socket_.close();
    }
    if (reports->empty()) return;
    llvm::json::Array all;
    for (RankReport& one : *reports) {
      const auto known = engines_number_.find(one.trial);
      if (known == engines_number_.end()) continue;
      keepStuck(one);
      one.trial = known->second;
      all.push_back(toJson(one));
    }
    socket_.send(Object{{"reports", std::move(all)}, {"now", clock_.boot()}});
  }

  llvm::Error take(const std::string& line) {
    auto value = plan::parseJson(line);
    if (!value) return value.takeError();
    const Object* message = value->getAsObject();
    if (!message) return llvm::createStringError("the engine said something that is no object");
    if (const Value* asked = message->get("describe")) return describe(*asked);
    if (const Value* data = message->get("copy")) return copy(*data);
    if (const Value* task = message->get("begin")) return begin(*task);
    if (const Object* heat = message->getObject("heat")) return heatCores(*heat);
    if (const Value* trial = message->get("start")) return start(*trial, message->getInteger("trial").value_or(0));
    if (const auto trial = message->getInteger("kill")) {
      for (const auto& [own, engines] : engines_number_)
        if (launcher_ && engines == static_cast<uint64_t>(*trial)) launcher_->kill(own);
      return llvm::Error::success();
    }
    return llvm::createStringError("the engine asks what this agent does not know: both must be of one build");
  }

  llvm::Error describe(const Value& asked) {
    Object all;
    for (const Value& path : *(asked.getAsArray() ? asked.getAsArray() : &nothing_)) {
      const std::string program = path.getAsString().value_or("").str();
      auto description = describeWorker(program);
      if (!description) return description.takeError();
      all[program] = Object{{"build", description->build}, {"libraries", description->libraries}};
    }
    socket_.send(Object{{"described", std::move(all)}});
    return llvm::Error::success();
  }

  /// An error where nobody waits any more for what takes long.
  llvm::Error wanted() const {
    if (told_to_end) return llvm::createStringError("its agent was told to end");
    if (!socket_.hasPeer()) return llvm::createStringError("the engine ended the connection");
    return llvm::Error::success();
  }

  llvm::Error copy(const Value& value) {
    auto copies = scratchCopiesFromJson(value);
    if (!copies) return copies.takeError();
    for (const ScratchCopy& one : *copies)
      if (auto error = makeCopy(one, [this] { return wanted(); })) return error;
    socket_.send(Object{{"copied", static_cast<int64_t>(copies->size())}});
    return llvm::Error::success();
  }

  llvm::Error begin(const Value& value) {
    auto task = agentTaskFromJson(value);
    if (!task) return task.takeError();
    auto slots = machine::slots(machine_, task->devices);
    if (!slots) return slots.takeError();
    slots_ = std::move(*slots);
    std::vector<std::string> notes;
    auto leases = machine::DeviceLeases::take(slots_, task->locks, task->owner, notes);
    if (!leases) return leases.takeError();
    leases_ = std::move(*leases);
    LocalWorkers workers{task->built_in, task->command, task->environment, task->log,
                         task->watch_cards ? machine_.nvml_library : ""};
    const auto say = [this](std::string text) { socket_.send(Object{{"say", std::move(text)}}); };
    launcher_ = std::make_unique<LocalLauncher>(std::move(workers), interrupts_, say, clock_, task->lanes);
    if (auto error = launcher_->ready()) return error;
    socket_.send(Object{{"begun", plan::jsonTexts(notes)}});
    return llvm::Error::success();
  }

  llvm::Error heatCores(const Object& asked) {
    heatUp(slots_, asked.getNumber("seconds").value_or(0), [this] { return llvm::errorToBool(wanted()); });
    if (auto error = wanted()) return error;
    socket_.send(Object{{"heated", true}});
    return llvm::Error::success();
  }

  llvm::Error start(const Value& value, int64_t number) {
    auto request = trialRequestFromJson(value);
    if (!request) return request.takeError();
    if (!launcher_) return llvm::createStringError("the engine starts a trial before it says what runs it");
    auto own = launcher_->start(*request);
    if (!own) return own.takeError();
    engines_number_[*own] = static_cast<uint64_t>(number);
    return llvm::Error::success();
  }

  /// Whoever comes after this run must not measure beside what does not die.
  void keepStuck(const RankReport& report) const {
    for (const int pid : report.stuck)
      for (const machine::Slot& slot : slots_) leases_.block(slot, pid);
  }

  LineSocket& socket_;
  const machine::Machine& machine_;
  const Clock& clock_ = Clock::real();
  const llvm::json::Array nothing_;
  // A run is ended by its engine: what Slurm or a terminal sends goes to that, too.
  Interrupts interrupts_;
  std::vector<machine::Slot> slots_;
  machine::DeviceLeases leases_;
  std::unique_ptr<LocalLauncher> launcher_;
  std::map<uint64_t, uint64_t> engines_number_;  // by the launcher's
};

void nothing(int) {}
void noteEnd(int) { told_to_end = 1; }

/// Signals that a terminal or a job's end sends to all are the engine's to answer; TERM ends the node with what runs
/// there. What it starts gets them as they were.
void leaveSignalsToTheEngine() {
  struct sigaction action{};
  action.sa_handler = nothing;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) sigaction(signal, &action, nullptr);
  action.sa_handler = noteEnd;
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

llvm::Error runAgent(const std::string& meeting_place) {
  auto place = readMeetingPlace(meeting_place);
  if (!place) return place.takeError();
  auto socket = LineSocket::connect(place->addresses);
  if (!socket) return socket.takeError();
  const machine::Machine machine = machine::probe();
  if (auto error = introduce(*socket, place->secret, machine)) return error;
  Agent agent(*socket, machine);
  leaveSignalsToTheEngine();
  agent.serve();
  return llvm::Error::success();
}

}  // namespace expc::engine
