// The serving process: one thread that answers one request after the other and makes pages when they are asked for. Its
// costs to the run are bounded: it has a lower priority, makes a page at most a twentieth of the time, and leaves out
// what would simulate on all cores. A browser is not trusted: its header is limited in size and time, and it can choose
// nothing but a page's number.

#include "runtime/report/live_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/describe/description.h"
#include "runtime/judge/index.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/needs.h"
#include "runtime/report/document.h"
#include "runtime/report/html.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/wording.h"
#include "runtime/simulate/forecast.h"
#include "runtime/store/store.h"

namespace expc::report {
namespace {

namespace http = boost::beast::http;
using base::Clock;

/// How long a slow browser may take for a request, and for its answer; others wait meanwhile.
constexpr std::chrono::seconds kPatience{2};
/// The largest header of a request that is read, in bytes.
constexpr size_t kMostHeader = 16 * 1024;
/// A page reloads itself every five seconds, so one that did not for this long is closed.
constexpr std::chrono::seconds kOpen{9};

/// Returns an answer of plain text.
PageAnswer plain(unsigned status, const char* why) { return {status, "text/plain; charset=utf-8", why}; }

/// Waits until `fd` can be read or written; false if `until` passes first.
bool isReady(int fd, short event, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd wait{fd, event, 0};
  return left > 0 && ::poll(&wait, 1, int(left)) == 1;
}

/// Reads the head of a request; nothing if it does not arrive whole, in time and as HTTP. A body is not read.
std::optional<PageRequest> readRequest(int fd) {
  const auto until = Clock::now() + kPatience;
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    char part[4096];
    if (head.size() > kMostHeader || !isReady(fd, POLLIN, until)) return std::nullopt;
    const ssize_t got = ::recv(fd, part, sizeof part, 0);
    if (got <= 0) return std::nullopt;
    head.append(part, size_t(got));
  }
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMostHeader);
  boost::system::error_code failed;
  parser.put(boost::asio::buffer(head), failed);
  if (!parser.is_header_done()) return std::nullopt;
  const auto& message = parser.get();
  return PageRequest{std::string(message.method_string()), std::string(message.target()),
                     std::string(message[http::field::host])};
}

/// Sends the text as far as the browser takes it in time; a failure concerns nobody but that browser.
void send(int fd, std::string_view text) {
  const auto until = Clock::now() + kPatience;
  while (!text.empty() && isReady(fd, POLLOUT, until)) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(size_t(sent));
  }
}

/// The most running trials that the page lists.
constexpr size_t kShownRunning = 8;
/// Making pages takes at most one of this many parts of the time.
constexpr unsigned kShare = 20;

/// Describes the progress of a study: "14 of 16 timed trials, about 3 s left". Trials of controls count, too.
std::string progressText(const Plan& plan, const Results& results, const judge::Index& index) {
  std::vector<std::string> kinds;
  for (const KindDesign& design : plan.design.kinds) {
    const auto done = std::ranges::count_if(results.trials, [&](const Trial& trial) {
      return trial.key->kind == design.kind && store::hasResult(trial.status);
    });
    const uint64_t left = judge::remaining(index, design.kind).trials;
    kinds.push_back(fmt::format("{} of {} {} trials", done, done + left, toString(design.kind)));
    if (const auto seconds = index.typicalSeconds(design.kind); seconds && left > 0)
      kinds.back() += fmt::format(", about {} left", durationText(*seconds * double(left)));
  }
  return fmt::format("{}", fmt::join(kinds, "; "));
}

/// Lists the trials of the study that have started and not ended; "" if there are none.
std::string runningText(const Plan& plan, const std::vector<Trial>& unended) {
  std::vector<std::string> running;
  for (const Trial& trial : unended)
    if (plan.findPoint(trial.place().point))
      running.push_back(fmt::format("{} {}", toString(trial.key->kind), placeText(plan, trial.place())));
  if (running.empty()) return "";
  return ". Running now: " + fewOf(std::move(running), kShownRunning);
}

/// The report pages of the studies that one run measures one after the other, made from its results folder.
class Pages {
 public:
  Pages(const std::vector<Plan>& plans, std::string folder) : folder_(std::move(folder)) {
    for (const Plan& plan : plans) pages_.push_back({plan});
  }
  size_t count() const { return pages_.size(); }

  /// Returns the page of a study, with what runs and what is left above it; it reloads itself until the run has ended.
  /// It is made anew only if something was recorded since, and at most once in twenty times as long as making it takes,
  /// so that watching costs a run at most a twentieth of a core. If the folder cannot be read, the page says so.
  std::string page(size_t study, std::optional<int> ended) {
    Page& page = pages_.at(study);
    if (auto error = refresh(page, ended))
      return fmt::format(
          "<!doctype html>\n<html lang=\"en\"><head><title>{0}</title>{1}</head><body><p>{2}</p></body>"
          "</html>\n",
          html(page.plan.study), kLoadAgain, html(printable(toString(std::move(error)))));
    return page.text;
  }

 private:
  /// A page and what it was made from.
  struct Page {
    Plan plan;
    std::string text = "";
    std::optional<int> ended = {};
    /// Bytes of the journals that `text` was made from. Journals only grow, so another number means news.
    uint64_t recorded = 0;
    /// When it may be made again.
    Clock::time_point not_before = {};
  };

  /// Returns the links to pages of the run's other studies.
  std::string links(const Page& shown) const {
    std::string text;
    for (size_t i = 0; i < pages_.size(); ++i)
      if (&pages_[i] != &shown) text += fmt::format(" <a href=\"/{}\">{}</a>", i, html(pages_[i].plan.study));
    return framed(" Other studies of this run:", text);
  }

  /// Makes the page anew if there is news and its time has come, or the run has ended meanwhile.
  Error refresh(Page& page, std::optional<int> ended) const {
    auto journals = TRY(store::listJournals(folder_));
    uint64_t bytes = 0;
    for (const store::JournalFile& journal : journals.files) bytes += journal.bytes + journal.ignored;
    const auto now = Clock::now();
    const bool is_new = bytes != page.recorded && now >= page.not_before;
    if (!page.text.empty() && ended == page.ended && !is_new) return Error::success();
    std::vector<std::string> messages;
    auto store = TRY(store::Store::openForReading(folder_, messages));
    const Results results = store.load(page.plan);
    const judge::Index index(page.plan, results);
    HtmlOptions options;
    options.folder = folder_;
    options.live = html(progressText(page.plan, results, index) + runningText(page.plan, store.unendedTrials())) + "." +
                   (ended ? fmt::format(" The run has ended with exit code {}.", *ended) : "") + links(page);
    options.again = !ended;
    // The forecast of further blocks simulates on all cores, so it must not run beside a measurement.
    page.text = htmlPage({page.plan, ended ? simulate::judge(page.plan, results) : describe::conclude(index), results},
                         options);
    page.ended = ended;
    page.recorded = bytes;
    page.not_before = now + kShare * (Clock::now() - now);
    return Error::success();
  }

  std::vector<Page> pages_;
  std::string folder_;
};

/// Reads one request and sends its answer. The headers let the page load nothing from elsewhere, and let no other page
/// embed or read it.
void exchange(int fd, unsigned port, size_t count, const std::function<std::string(size_t)>& page) {
  const auto request = readRequest(fd);
  if (!request) return;
  const PageAnswer given = answer(*request, port, count, page);
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Content-Security-Policy: {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
      given.status, std::string(http::obsolete_reason(static_cast<http::status>(given.status))), given.type,
      given.body.size(), kPagePolicy);
  if (request->method != "HEAD") text += given.body;
  send(fd, text);
}

/// Answers requests, in a process of its own, until the run is gone, or has ended and every open page has shown that or
/// nobody looks any more.
void answerAll(int listener, int line, unsigned port, Pages pages) {
  // The code that the run has ended with, and whether a page has shown it.
  std::optional<int> code;
  bool told = false;
  Clock::time_point asked;
  const auto page = [&](size_t study) {
    asked = Clock::now();
    told = code.has_value();
    return pages.page(study, code);
  };
  while (!code || (!told && Clock::now() - asked <= kOpen)) {
    pollfd waits[] = {{listener, POLLIN, 0}, {line, POLLIN, 0}};
    // After the end only browsers count, and the loop must look at its clock now and then.
    if (::poll(waits, code ? 1 : 2, code ? 200 : -1) < 0 && errno != EINTR) return;
    if (!code && waits[1].revents) {
      int ended = 0;
      // The pipe closed without a code: the run was killed.
      if (::read(line, &ended, sizeof ended) != sizeof ended) return;
      code = ended;
    }
    if (!(waits[0].revents & POLLIN)) continue;
    const Descriptor fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd >= 0) exchange(fd, port, pages.count(), page);
  }
}

/// Returns the error of a system call on the port, from errno.
Error cannot(unsigned port, const char* doing) {
  const int code = errno;
  const std::string where = port ? fmt::format("port {}", port) : "a port";
  return failure("--serve: cannot {} {} of 127.0.0.1: {}{}", doing, where, std::strerror(code),
                 code == EADDRINUSE ? "; --serve alone takes a free one" : "");
}

/// Opens a listening socket on 127.0.0.1, and returns its port.
Expected<std::pair<Descriptor, unsigned>> listenAt(unsigned port) {
  Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener < 0) return cannot(port, "open");
  const int yes = 1;
  // A port of a run that just ended can be used again at once.
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(port));
  socklen_t size = sizeof address;
  auto* plain_address = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, plain_address, size) != 0 || ::listen(listener, 16) != 0 ||
      ::getsockname(listener, plain_address, &size) != 0)
    return cannot(port, "listen at");
  return std::pair(std::move(listener), unsigned(ntohs(address.sin_port)));
}

}  // namespace

PageAnswer answer(const PageRequest& request, unsigned port, size_t count,
                  const std::function<std::string(size_t)>& page) {
  const std::string at = fmt::format(":{}", port);
  if (request.host != "127.0.0.1" + at && request.host != "localhost" + at)
    return plain(403, "this page is for a browser on its own host, at 127.0.0.1\n");
  if (request.method != "GET" && request.method != "HEAD") return plain(405, "this page can only be read\n");
  for (size_t study = 0; study < count; ++study)
    if (request.target == fmt::format("/{}", study) || (study == 0 && request.target == "/"))
      return {200, "text/html; charset=utf-8", page(study)};
  return plain(404, "there is no such page\n");
}

Expected<LiveServer> LiveServer::start(unsigned port, std::vector<Plan> plans, std::string folder) {
  auto listener = TRY(listenAt(port));
  base::Pipe line;
  if (line.read < 0) return cannot(port, "make a pipe for");
  const pid_t process = ::fork();
  if (process < 0) return cannot(port, "start a process for");
  if (process == 0) {
    line.write.close();
    // Signals of the terminal reach this process, too, but are for the run alone: this process ends when the run does.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
    // A low priority: measuring comes first.
    setpriority(PRIO_PROCESS, 0, 10);
    answerAll(listener.first, line.read, listener.second, Pages(plans, std::move(folder)));
    // The copy of the engine's objects must not be destroyed here.
    ::_exit(0);
  }
  return LiveServer(process, std::move(line.write), fmt::format("http://127.0.0.1:{}/", listener.second));
}

LiveServer::~LiveServer() {
  if (line_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void LiveServer::end(int code) {
  // The process ends by itself, after a page has shown the end or after kOpen.
  if (line_ < 0 || ::write(line_, &code, sizeof code) != ssize_t(sizeof code)) return;
  ::waitpid(process_, nullptr, 0);
  line_.close();
}

}  // namespace expc::report
