// Services as their worker sees them: when they are ready, and that nothing of them stays.

#include "runtime/worker/command/service.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "runtime/base/descriptor.h"
#include "runtime/base/process.h"
#include "runtime/protocol/port.h"
#include "tests/support/folder.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::command;
using expc::test::has;
using By = plan::Ready::By;

namespace {

/// A Python program, attended to as a service. The test ends it once it is ready, as an engine does.
struct Served {
  explicit Served(plan::Ready ready, const std::string& script, double timeout = 20) {
    ready.timeout_seconds = timeout;
    port = std::to_string(protocol::freePort());
    Program program;
    program.folder = folder.path;
    program.out = folder.path + "/out";
    program.err = folder.path + "/err";
    program.path = "/usr/bin/python3";
    program.arguments = {"python3", "-uc", script, port};
    auto made = ServiceAttendant::make(program, ready, "127.0.0.1", port, [&](double seconds, pid_t pid) {
      CHECK(!was_ready);
      CHECK(base::processOf(pid).runs());
      was_ready = seconds > 0;
      kill(getpid(), SIGTERM);  // runProgram() waits for it
    });
    auto attendant = std::make_unique<ServiceAttendant>(llvm::cantFail(std::move(made)));
    program.attendant = attendant.get();
    end = llvm::cantFail(runProgram(program));
    told = attendant->wasTold();
    late = attendant->late();
  }

  expc::test::TestFolder folder;
  std::string port, late;
  ProgramEnd end;
  bool was_ready = false, told = false;
};

/// Serves HTTP at argv[1]; the first three answers are 503.
constexpr char kHttp[] = R"(
import http.server, sys
seen = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global seen
        seen += 1
        self.send_response(503 if seen < 4 or self.path != '/health' else 204)
        self.end_headers()
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
)";

}  // namespace

TEST_CASE("a service is ready when it says so: over HTTP, by a connection, in its output, by a file") {
  CHECK(Served({By::Http, "/health", {}}, kHttp).was_ready);
  CHECK(Served({By::Tcp, "", {}}, kHttp).was_ready);
  CHECK(
      Served({By::Regex, "listening at [0-9]+", {}}, "import time; print('listening at 1'); time.sleep(60)").was_ready);
  CHECK(Served({By::Regex, "on stderr", {}}, "import sys, time; print('on stderr', file=sys.stderr); time.sleep(60)")
            .was_ready);
  const Served file({By::File, "ready", {}}, "import time; open('ready', 'w'); time.sleep(60)");
  CHECK(file.was_ready);
  CHECK(file.told);
  CHECK(WTERMSIG(file.end.status) == SIGTERM);
}

TEST_CASE("a service that is not ready in time is ended, and the reason says what was seen") {
  const Served silent({By::Tcp, "", {}}, "import time; time.sleep(60)", 0.3);
  CHECK(!silent.was_ready);
  CHECK(has(silent.late, "was not ready after 0.3 s: nothing accepts connections at port " + silent.port));
  // A busy machine may need more than a second to start the server.
  std::string other;
  for (double timeout = 1; timeout < 20 && !has(other, "/nowhere"); timeout *= 4)
    other = Served({By::Http, "/nowhere", {}}, kHttp, timeout).late;
  CHECK(has(other, "/nowhere is answered with 503"));
  CHECK(has(Served({By::File, "x", {}}, "import time; time.sleep(60)", 0.2).late, "it has not made 'x'"));
  CHECK(has(Served({By::Regex, "up", {}}, "import time; time.sleep(60)", 0.2).late, "'up' is not in its output"));
}

TEST_CASE("a service that ends by itself was not told to") {
  const Served died({By::Tcp, "", {}}, "import sys; sys.exit(3)");
  CHECK(!died.was_ready);
  CHECK(!died.told);
  CHECK(died.late == "");
  CHECK(WEXITSTATUS(died.end.status) == 3);
}

TEST_CASE("children of a service end with it, in whatever group they are") {
  const Served served({By::File, "ready", {}}, R"(
import os, subprocess, time
subprocess.Popen(['sleep', '60'])
subprocess.Popen(['sleep', '60'], start_new_session=True)
open('ready', 'w')
time.sleep(60)
)");
  CHECK(served.told);
  // The first is in the group that SIGTERM goes to, the other is found as a descendant.
  CHECK(served.end.left_behind >= 1);
  CHECK(served.end.stuck.empty());
}

TEST_CASE("what a service takes is counted from a moment on, with what it started") {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    execlp("sh", "sh", "-c", "python3 -c 'while True: pass' & wait", nullptr);
    _exit(127);
  }
  double used = 0;
  const ServiceUse whole(child);
  while (used < 0.2) {
    REQUIRE(base::processOf(child).runs());
    usleep(20000);
    used = whole.cpuSeconds().value_or(1);
  }
  CHECK(whole.peakBytes().value_or(0) > 4 << 20);
  // Later use starts at nothing, and the peak at what is held then.
  const ServiceUse rest(child);
  CHECK(rest.cpuSeconds().value_or(1) < used);
  const double peak = rest.peakBytes().value_or(1e12);
  CHECK(peak <= whole.peakBytes().value_or(0));  // looked at later, as the program may still grow
  kill(-child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(!rest.peakBytes());
}

TEST_CASE("a port at which somebody listens is not free") {
  const base::Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  REQUIRE(listen(fd, 1) == 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  CHECK(!isFree(port));
  CHECK(isFree(std::to_string(protocol::freePort())));
  CHECK(!isFree("http"));
  // It accepts connections, and answers nothing.
  CHECK(!answers("127.0.0.1", port, ""));
  CHECK(has(llvm::toString(answers("127.0.0.1", port, "/")), "does not answer /"));
}
