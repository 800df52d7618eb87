// Starts worker programs and talks to them. Every wait has a limit and also wakes for an interrupt, because a worker
// may hang while it loads its libraries from a slow disk.

#include "runtime/engine/launch/worker_client.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/torch.h"
#include "runtime/protocol/packet.h"

extern char** environ;

namespace expc::engine::launch {
namespace {

// Loading libtorch from a cold disk or a network takes a while.
constexpr auto kStartPatience = std::chrono::seconds(120);
constexpr size_t kMaxDescription = 4 << 20;
constexpr size_t kMaxValues = 1ull << 30;  // bytes of the answer to --extract, with series of many trials
// The descriptor at which the child finds its end of a channel.
constexpr int kChannel = 3;

int millisecondsUntil(base::Clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - base::Clock::now()).count();
  return left < 0 ? 0 : int(left) + 1;
}

StringRef nameOf(StringRef variable) { return variable.split('=').first; }

/// The variables of this process, those in `added` instead of ones with the same name. The pointers refer to both.
std::vector<char*> variablesWith(const Environment& added) {
  std::vector<char*> all;
  for (char** own = environ; *own; ++own) {
    const bool replaced =
        std::ranges::any_of(added, [&](const std::string& other) { return nameOf(other) == nameOf(*own); });
    if (!replaced) all.push_back(*own);
  }
  for (const std::string& variable : added) all.push_back(const_cast<char*>(variable.c_str()));
  all.push_back(nullptr);
  return all;
}

/// Starts `path argument...` in its own process group, with stdin from /dev/null, `out` as stdout, `err` as stderr, and
/// `channel` (if not -1) as descriptor kChannel. Returns -1 and sets errno if it cannot be started.
pid_t spawn(const std::string& path, std::vector<std::string> arguments, int out, int err, int channel,
            const Environment& environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // dup2 onto itself still clears close-on-exec here (POSIX.1-2024, glibc 2.29).
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  if (channel >= 0) posix_spawn_file_actions_adddup2(&actions, channel, kChannel);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // An own group keeps a terminal's Ctrl-C from the worker: the engine decides when trials end.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  std::vector<char*> variables = variablesWith(environment);
  const int error = posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error ? -1 : pid;
}

bool isCudaWorker(const std::string& path) {
  return std::filesystem::path(path).filename().string() == "expc-worker-cuda";
}

/// The error of a worker that cannot be started, with the way to build it.
Error missing(const std::string& path, int error) {
  const char* way_out = isCudaWorker(path) ? "`make cuda` builds it (where there is an NVIDIA driver `make build` does)"
                                           : "build it with `make` (or `cmake --build BUILD --target expc-worker`)";
  return failure(
      "the worker '{}' cannot be started: {}; {}, or name another with --worker "
      "PATH",
      path, std::strerror(error), way_out);
}

/// Reaps a child that ends within `looks` looks and returns its status. The first 20 looks are 0.5 ms apart, since most
/// children end at once, the others 10 ms.
std::optional<int> reap(pid_t pid, int looks) {
  int status = 0;
  for (int look = 0; look < looks; ++look) {
    if (waitpid(pid, &status, WNOHANG) == pid) return status;
    usleep(look < 20 ? 500 : 10000);
  }
  return std::nullopt;
}

/// How reading an answer ended.
enum class Read { Complete, NoAnswer, Interrupted };

/// Reads up to the end of file. NoAnswer if there are more than `most` bytes, or the time is over.
Read readAll(int fd, std::string& text, size_t most) {
  auto end = base::Clock::now() + kStartPatience;
  char buffer[65536];
  while (true) {
    pollfd waiting[] = {{fd, POLLIN, 0}, {Interrupts::fd(), POLLIN, 0}};
    int ready = poll(waiting, 2, millisecondsUntil(end));
    if (ready == 0) return Read::NoAnswer;
    if (ready < 0) continue;  // a signal, which the second descriptor reports
    if (waiting[1].revents) return Read::Interrupted;
    ssize_t size = read(fd, buffer, sizeof buffer);
    if (size == 0) return Read::Complete;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 || text.size() + size > most) return Read::NoAnswer;
    text.append(buffer, size);
  }
}

/// Reads "one_process" of each parameter: the levels at which one process drives all devices.
void readOneProcess(const std::string& name, const json::Object& workload, WorkerDescription& into) {
  const json::Array* parameters = workload.getArray("params");
  for (size_t i = 0; parameters && i < parameters->size(); ++i) {
    const json::Object* parameter = (*parameters)[i].getAsObject();
    const json::Array* levels = parameter ? parameter->getArray("one_process") : nullptr;
    const auto own = parameter ? parameter->getString("name") : std::nullopt;
    for (size_t j = 0; own && levels && j < levels->size(); ++j)
      if (auto text = (*levels)[j].getAsString()) into.one_process.insert({name, own->str(), text->str()});
  }
}

/// The answer of a worker program to a command line: its exit status and what it printed.
struct Answer {
  int status = 0;
  std::string text;
};

/// Runs `path arguments...` and collects what it prints, at most `most` bytes. Its stderr is the user's.
Expected<Answer> ask(const std::string& path, const std::vector<std::string>& arguments,
                     const Environment& environment = {}, size_t most = kMaxDescription) {
  // Checked before, since posix_spawn may report a missing program only as exit code 127.
  if (access(path.c_str(), X_OK) != 0) return missing(path, errno);
  base::Pipe pipe;
  if (pipe.read < 0) return missing(path, errno);
  const pid_t pid = spawn(path, arguments, pipe.write, STDERR_FILENO, -1, environment);
  pipe.write.close();
  if (pid < 0) return missing(path, errno);
  Answer answer;
  const Read read = readAll(pipe.read, answer.text, most);
  pipe.read.close();
  // The whole group, since a worker may have started helpers that keep the pipe open.
  if (read != Read::Complete) kill(-pid, SIGKILL);
  while (waitpid(pid, &answer.status, 0) < 0 && errno == EINTR) {
  }
  if (read == Read::Complete) return answer;
  if (read == Read::Interrupted) return failure("interrupted while waiting for the worker '{}'", path);
  return failure("the worker '{}' did not answer {} in {} s", path, arguments.front(), kStartPatience.count());
}

}  // namespace

Expected<WorkerDescription> parseDescription(const std::string& path, const std::string& text) {
  auto bad = [&](const std::string& why) {
    return failure(
        "'{} --describe' did not print the description of a worker: {}; is it the expc-worker of this build?", path,
        why);
  };
  auto value = parseJson(text);
  if (!value) return bad(toString(value.takeError()));
  const json::Object* object = value->getAsObject();
  if (!object || object->getInteger("v").value_or(-1) != protocol::kTrialVersion) {
    return bad(fmt::format("version {} was expected", protocol::kTrialVersion));
  }
  WorkerDescription description;
  description.build = object->getString("build").value_or("").str();
  if (description.build.empty()) return bad("it has no build");
  if (const json::Value* libraries = object->get("libraries")) description.libraries = *libraries;
  const json::Array* workloads = object->getArray("workloads");
  if (!workloads) return bad("it has no workloads");
  for (const json::Value& entry : *workloads) {
    const json::Object* workload = entry.getAsObject();
    auto name = workload ? workload->getString("name") : std::nullopt;
    auto version = workload ? workload->getInteger("version") : std::nullopt;
    if (!name || !version) return bad("a workload has no name or no version");
    description.workloads[name->str()] = int(*version);
    readOneProcess(name->str(), *workload, description);
  }
  return description;
}

bool WorkerDescription::isOneProcess(const std::string& workload, const json::Object& parameters) const {
  return std::ranges::any_of(one_process, [&](const auto& one) {
    return one[0] == workload && parameters.getString(one[1]) == StringRef(one[2]);
  });
}

std::string statusText(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

Expected<WorkerDescription> describeWorker(const std::string& path, const Environment& environment) {
  auto variables = TRY(withTorch(path, environment));
  auto answer = TRY(ask(path, {"--describe"}, variables));
  if (answer.status == 0) return parseDescription(path, answer.text);
  return failure("the worker '{}' does not run: `{} --describe` {}; see its output above, and {}", path, path,
                 statusText(answer.status),
                 isCudaWorker(path) ? "install CUDA's libraries with `tools/setup --gpu` if one is missing"
                                    : fmt::format("build it again with `make`; an installed worker needs torch: "
                                                  "`pip install 'torch=={}.*'` next to it, or --torch PATH",
                                                  torchWanted()));
}

Error checkCommand(const std::string& path, const plan::Workload& workload, const std::vector<std::string>& metrics) {
  json::Object question{{"command", base::written(*workload.command)}, {"metrics", base::jsonTexts(metrics)}};
  auto answer = TRY(ask(path, {"--check", canonicalJson(std::move(question))}));
  if (answer.status == 0) return Error::success();
  const std::string why = StringRef(answer.text).trim().str();
  return failure("the workload {}: {}", workload.name, why.empty() ? path + " " + statusText(answer.status) : why);
}

Expected<std::vector<std::string>> askForMetrics(const std::string& path, const std::string& folder,
                                                 json::Object question) {
  const std::string file = folder + "/extract.question.json";
  TRY(files::write(file, canonicalJson(std::move(question)), files::Links::Refused));
  auto answer = ask(path, {"--extract", file}, {}, kMaxValues);
  unlink(file.c_str());
  if (!answer) return answer.takeError();
  if (answer->status != 0)
    return failure("cannot re-read the metrics: {}", answer->text.empty() ? path + " " + statusText(answer->status)
                                                                          : StringRef(answer->text).trim().str());
  llvm::SmallVector<StringRef, 64> lines;
  StringRef(answer->text).trim().split(lines, '\n');
  return std::vector<std::string>(lines.begin(), lines.end());
}

WorkerServer& WorkerServer::operator=(WorkerServer&& other) noexcept {
  // Swapping leaves the former server to `other`, whose destructor stops it.
  std::swap(fd_, other.fd_);
  std::swap(pid_, other.pid_);
  std::swap(nonsense_, other.nonsense_);
  return *this;
}

WorkerServer::~WorkerServer() { stop(); }

Expected<WorkerServer> WorkerServer::start(const std::string& path, const std::string& log,
                                           const Environment& environment) {
  auto variables = TRY(withTorch(path, environment));
  const Descriptor log_fd(files::openLog(log, files::Log::GoesOn));
  if (log_fd < 0) {
    return failure("{}: {}; make the results folder writable or choose another with --results DIR", log,
                   std::strerror(errno));
  }
  int ends[2];
  // SOCK_SEQPACKET keeps messages apart and carries descriptors (SCM_RIGHTS).
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return failure("no socket for the worker: {}", std::strerror(errno));
  WorkerServer server;
  server.fd_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  server.pid_ = spawn(path, {"--serve", std::to_string(kChannel)}, log_fd, log_fd, theirs, variables);
  // Our copy of the child's end is closed, so that its death closes the channel.
  theirs.close();
  if (server.pid_ < 0) return missing(path, errno);
  auto end = base::Clock::now() + kStartPatience;
  // Ready comes once the libraries are loaded. A server that dies meanwhile closes its channel.
  while (server.alive() && base::Clock::now() < end) {
    pollfd waiting[] = {{server.fd_, POLLIN, 0}, {Interrupts::fd(), POLLIN, 0}};
    if (poll(waiting, 2, millisecondsUntil(end)) < 0) continue;
    if (waiting[1].revents) return failure("interrupted while the worker started");
    if (!waiting[0].revents) continue;
    auto reply = server.receive();
    if (reply && reply->type == protocol::LaunchReply::Type::Ready) return server;
  }
  std::string how =
      server.alive() ? fmt::format("was not ready after {} s", kStartPatience.count()) : server.deathText();
  return failure("the worker '{}' does not start ({}). The end of its log {}:\n{}", path, how, log,
                 files::lastWords(log));
}

bool WorkerServer::launch(const protocol::LaunchRequest& request, int event_fd, int log_fd, int next_fd) {
  std::vector<int> descriptors{event_fd, log_fd};
  if (next_fd >= 0) descriptors.push_back(next_fd);
  return protocol::sendPacket(fd_, canonicalJson(base::written(request)), descriptors);
}

bool WorkerServer::kill(uint64_t launch) { return sendOrder("kill", launch); }

bool WorkerServer::endService(uint64_t launch) { return sendOrder("stop", launch); }

bool WorkerServer::sendOrder(StringRef order, uint64_t launch) {
  return protocol::sendPacket(fd_, canonicalJson(json::Object{{"v", protocol::kTrialVersion}, {order, launch}}));
}

Expected<std::optional<protocol::LaunchReply>> receiveReply(int socket, bool& closed) {
  const auto packet = protocol::receivePacket(socket, /*waits=*/false);
  closed = !packet && errno != EAGAIN;
  if (!packet) return std::nullopt;
  auto value = TRY(parseJson(packet->text));
  return TRY(base::readRecord<protocol::LaunchReply>(value, "the launch reply"));
}

std::optional<protocol::LaunchReply> WorkerServer::receive() {
  if (fd_ < 0) return std::nullopt;
  bool closed = false;
  auto reply = receiveReply(fd_, closed);
  if (reply && !closed) return std::move(*reply);
  // After nonsense the channel is closed, too: nothing on it can be trusted any more.
  if (!reply) nonsense_ = toString(reply.takeError());
  fd_.close();
  return std::nullopt;
}

std::string WorkerServer::deathText() {
  if (!nonsense_.empty()) {
    stop();
    return fmt::format("sent a message that expc does not understand: {}", nonsense_);
  }
  if (pid_ < 0) return "is gone";
  // Its socket is closed, so the server is dead or about to die.
  if (const auto status = reap(pid_, 200)) {
    pid_ = -1;
    return statusText(*status);
  }
  stop();
  return "closed its channel";
}

void WorkerServer::stop() {
  fd_.close();
  if (pid_ < 0) return;
  // A server kills its children and exits when the channel closes. If it does not, it is killed, and its children die
  // with it (PR_SET_PDEATHSIG).
  if (!reap(pid_, 500)) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
}

}  // namespace expc::engine::launch
