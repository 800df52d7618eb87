#pragma once

// Runs tests in processes of their own, because the null GPU reads its environment once and some of
// its checks end the process.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace nullgpu::testing {

struct Outcome {
  int status = 0;      // as from waitpid
  std::string said;    // the text that the body printed to its file
  std::string errors;  // stderr

  bool ended() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
  bool mentions(const std::string& text) const { return errors.find(text) != std::string::npos; }
};

inline std::string readAll(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int byte; (byte = std::fgetc(file)) != EOF;) text += char(byte);
  std::fclose(file);
  return text;
}

/// Runs `body` in a child that ends as a program does. SIGALRM ends one that hangs.
inline Outcome inChild(const std::map<std::string, std::string>& environment,
                       const std::function<void(std::FILE*)>& body) {
  std::FILE* said = std::tmpfile();
  std::FILE* errors = std::tmpfile();
  REQUIRE((said && errors));
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(120);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    dup2(fileno(errors), STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // doctest has installed its own handler
    std::signal(SIGSEGV, SIG_DFL);
    body(said);
    std::exit(0);
  }
  Outcome outcome;
  REQUIRE(waitpid(child, &outcome.status, 0) == child);
  outcome.said = readAll(said);
  outcome.errors = readAll(errors);
  return outcome;
}

/// The output of a child that must end well.
inline std::string said(const Outcome& outcome) {
  CHECK_MESSAGE(outcome.ended(), outcome.errors);
  return outcome.said;
}

}  // namespace nullgpu::testing
