#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "runtime/worker/command/trial.h"

using expc::command::Deadline;

namespace {

/// The output of a process with a deadline, and its exit status.
std::string lastWords(unsigned seconds, unsigned work_ms, int& status) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    {
      Deadline deadline(seconds, ends[1]);
      deadline.say("reading a\n");
      deadline.say("reading b\n");
      for (unsigned i = 0; i < work_ms; ++i) usleep(1000);
    }
    sleep(work_ms < 1000 * seconds ? seconds : 0);  // the deadline has been ended, so nothing happens now
    _exit(7);
  }
  close(ends[1]);
  std::string text;
  char piece[100];
  for (ssize_t size; (size = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, size);
  close(ends[0]);
  waitpid(pid, &status, 0);
  return text;
}

}  // namespace

TEST_CASE("a deadline ends the process with the last thing it was told to say") {
  int status = 0;
  CHECK(lastWords(1, 3000, status) == "reading b\n");
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(lastWords(1, 10, status).empty());
  CHECK(WEXITSTATUS(status) == 7);
}
