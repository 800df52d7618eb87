#include "nullgpu/core/process.h"

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace nullgpu {

uint64_t startOf(int pid) {
  std::ifstream file(joined("/proc/", pid, "/stat"));
  std::string text;
  if (!std::getline(file, text)) return 0;
  // The program's name stands in parentheses and may hold anything, parentheses too.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  char state = 0;
  unsigned long ticks = 0;  // fields 3 (state) and 22 (starttime) of proc(5)
  std::sscanf(text.c_str() + name_end + 1,
              " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &state, &ticks);
  return state == 'Z' || state == 'X' ? 0 : ticks;
}

void startThread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  // Faults of the thread itself must reach their handler: blocked, they would kill the process
  // without a word.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, own);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread(std::move(body)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace nullgpu
