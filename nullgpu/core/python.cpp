// A wait usually happens without the interpreter's lock, and taking it could deadlock: torch calls
// the runtime with locks of its own, for which a thread may wait that has the interpreter's. So the
// main thread is asked to look (Py_AddPendingCall). It does so right after the call that waited has
// returned, before its next line. Waits of other threads, such as autograd's, count for the line
// where the main thread is then, which for those is the line that called backward().

#include "nullgpu/core/python.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "nullgpu/core/record.h"

namespace nullgpu {
namespace {

struct Object;  // PyObject, PyFrameObject and PyCodeObject

/// The functions of CPython (3.9 on) that are used, none of which depends on its version.
struct Python {
  int (*add_pending_call)(int (*)(void*), void*);
  Object* (*current_frame)();  // borrowed
  Object* (*code_of)(Object*);
  Object* (*caller_of)(Object*);
  int (*line_of)(Object*);
  Object* (*attribute)(Object*, const char*);
  const char* (*text_of)(Object*);
  void (*retain)(Object*);
  void (*release)(Object*);
  void (*clear_error)();
  Object* (*new_dictionary)();
  Object* (*run)(const char*, int, Object*, Object*);
  bool found = false;
};

template <typename Function>
bool find(Function& function, const char* name) {
  return (function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name))) != nullptr;
}

const Python& python() {
  static const Python found = [] {
    Python py{};
    py.found = find(py.add_pending_call, "Py_AddPendingCall") && find(py.current_frame, "PyEval_GetFrame") &&
               find(py.code_of, "PyFrame_GetCode") && find(py.caller_of, "PyFrame_GetBack") &&
               find(py.line_of, "PyFrame_GetLineNumber") && find(py.attribute, "PyObject_GetAttrString") &&
               find(py.text_of, "PyUnicode_AsUTF8") && find(py.retain, "Py_IncRef") && find(py.release, "Py_DecRef") &&
               find(py.clear_error, "PyErr_Clear") && find(py.new_dictionary, "PyDict_New") &&
               find(py.run, "PyRun_String");
    return py;
  }();
  return found;
}

/// hook.py, as one expression. describe() passes over a file whose name begins like this one's.
constexpr const char* kHook =
#include "nullgpu/hook.inc"
    ;
constexpr int kFileInput = 257;  // Py_file_input

void hookPython() {
  const Python& py = python();
  Object* names = py.new_dictionary();
  if (Object* result = names ? py.run(kHook, kFileInput, names, names) : nullptr) py.release(result);
  if (names) py.release(names);
  py.clear_error();
}

/// Waits that have no place yet.
std::atomic<uint64_t> waits{0}, waited{0};
std::atomic<bool> asked{false};
/// Whether the hook was run. It runs once, even if nobody asks for a record.
std::atomic<bool> prepared{false};

/// Whether a file belongs to installed packages or to Python itself, and not to the user's program.
bool isInstalled(std::string_view file) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"/site-packages/", "/dist-packages/", "/lib/python3"},
                             [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

/// Writes "FILE:LINE" of the innermost frame of the user's program, or of the innermost frame if
/// all are of packages. Long names lose their beginning.
void describe(char (&at)[sizeof(nullgpu_place::at)]) {
  const Python& py = python();
  Object* frame = py.current_frame();
  if (frame) py.retain(frame);
  while (frame) {
    Object* code = py.code_of(frame);
    Object* name = py.attribute(code, "co_filename");
    const char* text = name ? py.text_of(name) : nullptr;
    const std::string_view file = text ? text : "";
    const bool frozen = file.starts_with("<frozen");  // the interpreter's own, which says nothing of the program
    const bool ours = !frozen && !isInstalled(file);
    constexpr size_t kMost = sizeof at - 16;
    if (!frozen && (ours || at[0] == '\0')) {
      std::memset(at, 0, sizeof at);
      std::snprintf(at, sizeof at, "%s:%d", file.data() + file.size() - std::min(file.size(), kMost),
                    py.line_of(frame));
    }
    if (name) py.release(name);
    py.release(code);
    Object* caller = ours ? nullptr : py.caller_of(frame);
    py.release(frame);
    frame = caller;
  }
  py.clear_error();
}

/// Runs on Python's main thread.
int look(void*) {
  if (!prepared.exchange(true)) hookPython();
  asked = false;
  const uint64_t number = waits.exchange(0), nanoseconds = waited.exchange(0);
  if (number == 0 || !isRecorded()) return 0;
  char at[sizeof(nullgpu_place::at)] = {};
  describe(at);
  if (at[0] == '\0') return 0;
  for (nullgpu_place& place : record().places) {
    if (place.at[0] == '\0') std::memcpy(place.at, at, sizeof at);
    if (std::strcmp(place.at, at) != 0) continue;
    place.waits += number;
    place.nanoseconds += nanoseconds;
    break;
  }
  return 0;
}

}  // namespace

void askPython() {
  if (!python().found || (prepared && !isRecorded())) return;
  // The interpreter's queue is short, so one request stands for all waits until it is met.
  if (!asked.exchange(true) && python().add_pending_call(look, nullptr) != 0) asked = false;
}

void placeWait(uint64_t nanoseconds) {
  ++waits;
  waited += nanoseconds;
  askPython();
}

}  // namespace nullgpu
