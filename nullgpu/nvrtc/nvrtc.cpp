// NVRTC: every source compiles, to an image without content. Errors of a source therefore stay
// unknown. NVRTC's header comes only with its library, so the few functions are declared here as the
// header does it; 0 is success.

#include <cstddef>
#include <cstring>
#include <set>
#include <string>

namespace {

/// The target of nvrtcProgram.
struct Program {
  std::set<std::string> names;
};

/// The image, its PTX and the compiler's messages: a text that says what it is, with its final null.
constexpr char kImage[] = "// of a simulated GPU";

int sizeInto(size_t* size, size_t value) { return *size = value, 0; }

}  // namespace

extern "C" {

int nvrtcCreateProgram(Program** program, const char*, const char*, int, const char* const*, const char* const*) {
  *program = new Program;
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
/// The name stands for itself; it lives as long as the program.
int nvrtcGetLoweredName(Program* program, const char* name, const char** lowered) {
  *lowered = program->names.insert(name).first->c_str();
  return 0;
}
int nvrtcGetCUBINSize(Program*, size_t* size) { return sizeInto(size, sizeof kImage); }
int nvrtcGetCUBIN(Program*, char* image) { return std::memcpy(image, kImage, sizeof kImage), 0; }
int nvrtcGetPTXSize(Program*, size_t* size) { return sizeInto(size, sizeof kImage); }
int nvrtcGetPTX(Program*, char* image) { return std::memcpy(image, kImage, sizeof kImage), 0; }
int nvrtcGetProgramLogSize(Program*, size_t* size) { return sizeInto(size, 1); }
int nvrtcGetProgramLog(Program*, char* log) { return *log = 0, 0; }
const char* nvrtcGetErrorString(int result) { return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_INTERNAL_ERROR"; }
int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }

}  // extern "C"
