#include "nullgpu/core/process.h"

#include <pthread.h>
#include <signal.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace nullgpu {

uint64_t startOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  // The program's name stands in parentheses and may hold anything, parentheses too.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  constexpr int kState = 3, kStart = 22;  // fields of proc(5), which counts from 1
  for (int i = kState; i <= kStart && fields >> field; ++i) {
    if (i == kState && (field == "Z" || field == "X")) return 0;
  }
  uint64_t ticks = 0;
  std::from_chars(field.data(), field.data() + field.size(), ticks);
  return ticks;
}

void startThread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, own);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread(std::move(body)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace nullgpu
