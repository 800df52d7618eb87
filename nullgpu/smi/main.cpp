// A small nvidia-smi for set-up scripts: a table, `-L`, and --query-gpu in CSV without a header. Everything
// else is refused with exit code 2, because a script would take silence for an answer. It reads the
// cards through NVML, like the real one.

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nullgpu/core/words.h"

namespace {

constexpr unsigned kTextSize = 96;

/// Ends the program with what is wrong and what would be right.
[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(
      stderr,
      "nvidia-smi (of null cards): %s; there are a table without options, -L, and --query-gpu=FIELD[,FIELD...] "
      "--format=csv,noheader[,nounits], with the fields driver_version, name, uuid, memory.total, memory.used, "
      "memory.free\n",
      what.c_str());
  std::exit(2);
}

/// Ends the program with exit code 1 if NVML returned an error.
void check(nvmlReturn_t result, const std::string& what) {
  if (result == NVML_SUCCESS) return;
  std::fprintf(stderr, "nvidia-smi (of null cards): %s: %s\n", what.c_str(), nvmlErrorString(result));
  std::exit(1);
}

/// A text of a card, through one of NVML's functions.
std::string textOf(nvmlReturn_t (*function)(nvmlDevice_t, char*, unsigned), nvmlDevice_t device, const char* what) {
  char text[kTextSize];
  check(function(device, text, kTextSize), what);
  return text;
}

nvmlReturn_t driverVersion(nvmlDevice_t, char* text, unsigned size) { return nvmlSystemGetDriverVersion(text, size); }

/// A size that NVML tells, in whole MiB, as nvidia-smi prints it.
template <auto kSize>
std::string memoryOf(nvmlDevice_t device) {
  nvmlMemory_t memory{};
  check(nvmlDeviceGetMemoryInfo(device, &memory), "memory");
  return std::to_string(memory.*kSize >> 20);
}

/// A field that can be asked for; `unit` is printed unless the caller asks for nounits.
struct Field {
  std::function<std::string(nvmlDevice_t)> value;
  const char* unit = "";
};
const std::map<std::string, Field, std::less<>> kFields = {
    {"driver_version", {[](nvmlDevice_t device) { return textOf(driverVersion, device, "driver_version"); }}},
    {"name", {[](nvmlDevice_t device) { return textOf(nvmlDeviceGetName, device, "name"); }}},
    {"uuid", {[](nvmlDevice_t device) { return textOf(nvmlDeviceGetUUID, device, "uuid"); }}},
    {"memory.total", {memoryOf<&nvmlMemory_t::total>, " MiB"}},
    {"memory.used", {memoryOf<&nvmlMemory_t::used>, " MiB"}},
    {"memory.free", {memoryOf<&nvmlMemory_t::free>, " MiB"}},
};

/// The fields of a comma-separated list; an unknown one is refused.
std::vector<Field> fieldsOf(std::string_view list) {
  std::vector<Field> fields;
  for (const std::string_view name : nullgpu::entriesOf(list)) {
    const auto found = kFields.find(name);
    if (found == kFields.end()) refuse("there is no field '" + std::string(name) + "'");
    fields.push_back(found->second);
  }
  return fields;
}

/// Handles of all cards of the machine. Ends the program if NVML fails.
std::vector<nvmlDevice_t> devices() {
  check(nvmlInit_v2(), "NVML");
  unsigned count = 0;
  check(nvmlDeviceGetCount_v2(&count), "NVML");
  std::vector<nvmlDevice_t> found(count);
  for (unsigned i = 0; i < count; ++i) check(nvmlDeviceGetHandleByIndex_v2(i, &found[i]), "GPU " + std::to_string(i));
  return found;
}

/// `-L`: a line per GPU, in nvidia-smi's form.
void list() {
  unsigned number = 0;
  for (nvmlDevice_t device : devices()) {
    std::printf("GPU %u: %s (UUID: %s)\n", number++, textOf(nvmlDeviceGetName, device, "name").c_str(),
                textOf(nvmlDeviceGetUUID, device, "uuid").c_str());
  }
}

/// Without options: a table of the cards.
void table() {
  const std::vector<nvmlDevice_t> cards = devices();
  int version = 0;
  check(nvmlSystemGetCudaDriverVersion_v2(&version), "CUDA Version");
  char driver[kTextSize];
  check(nvmlSystemGetDriverVersion(driver, kTextSize), "Driver Version");
  const std::string rule = "+" + std::string(77, '-') + "+";
  std::printf("%s\n| NVIDIA-SMI %-12s Driver Version: %-12s CUDA Version: %2d.%-5d |\n%s\n", rule.c_str(), driver,
              driver, version / 1000, version % 1000 / 10, rule.c_str());
  std::printf("| GPU  %-40s %28s  |\n%s\n", "Name", "Memory-Usage", rule.c_str());
  for (size_t number = 0; number < cards.size(); ++number)
    std::printf("| %3zu  %-40s %28s  |\n", number, textOf(nvmlDeviceGetName, cards[number], "name").c_str(),
                (memoryOf<&nvmlMemory_t::used>(cards[number]) + "MiB / " +
                 memoryOf<&nvmlMemory_t::total>(cards[number]) + "MiB")
                    .c_str());
  std::printf("%s\n", rule.c_str());
}

/// `--query-gpu`: a line per GPU with the fields, separated by commas.
void query(const std::vector<Field>& fields, bool units) {
  for (nvmlDevice_t device : devices()) {
    std::string line;
    for (const Field& field : fields)
      line += (line.empty() ? "" : ", ") + field.value(device) + (units ? field.unit : "");
    std::puts(line.c_str());
  }
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string_view> arguments(values + 1, values + count);
  if (arguments.size() == 1 && arguments[0] == "-L") return list(), 0;
  if (arguments.empty()) return table(), 0;
  std::vector<Field> fields;
  bool format = false, units = true;
  for (const std::string_view argument : arguments) {
    constexpr std::string_view kQuery = "--query-gpu=", kFormat = "--format=";
    if (argument.starts_with(kQuery)) {
      fields = fieldsOf(argument.substr(kQuery.size()));
    } else if (argument.starts_with(kFormat)) {
      const std::string_view value = argument.substr(kFormat.size());
      if (value != "csv,noheader" && value != "csv,noheader,nounits")
        refuse("there is no format '" + std::string(value) + "'");
      format = true;
      units = value == "csv,noheader";
    } else {
      refuse("'" + std::string(argument) + "' is not known");
    }
  }
  if (fields.empty() || !format) refuse("expected a query and its format");
  query(fields, units);
  return 0;
}
