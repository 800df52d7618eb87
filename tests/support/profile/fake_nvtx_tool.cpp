// A tool of NVIDIA's as NVTX loads one (NVTX_INJECTION64_PATH), which writes down the ranges it is told: for a test
// without such a tool, and without a GPU.

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string told;  // "push step; pop; start epoch; end; "

struct Registered {
  const char* text;
};

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  told += std::string("push ") + reinterpret_cast<const Registered*>(range->message.registered)->text + "; ";
  return 0;
}
int pop(nvtxDomainHandle_t) {
  told += "pop; ";
  return 0;
}
nvtxRangeId_t start(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  told += std::string("start ") + reinterpret_cast<const Registered*>(range->message.registered)->text + "; ";
  return 42;
}
void end(nvtxDomainHandle_t, nvtxRangeId_t id) { told += id == 42 ? "end; " : "end of another; "; }
nvtxStringHandle_t registerString(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new Registered{(new std::string(text))->c_str()});
}
nvtxDomainHandle_t createDomain(const char* name) {
  told += std::string("domain ") + name + "; ";
  return reinterpret_cast<nvtxDomainHandle_t>(&told);
}

}  // namespace

extern "C" {

/// What NVTX calls when it has loaded this library.
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getTable) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(getTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  const auto set = [&](unsigned id, auto* function) {
    if (id < size && table[id]) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainRangePushEx, &push);
  set(NVTX_CBID_CORE2_DomainRangePop, &pop);
  set(NVTX_CBID_CORE2_DomainRangeStartEx, &start);
  set(NVTX_CBID_CORE2_DomainRangeEnd, &end);
  set(NVTX_CBID_CORE2_DomainRegisterStringA, &registerString);
  set(NVTX_CBID_CORE2_DomainCreateA, &createDomain);
  return 1;
}

/// For the test: everything so far.
const char* expcToldNvtx() { return told.c_str(); }
}
