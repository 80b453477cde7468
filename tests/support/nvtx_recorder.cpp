// A profiler in the place of one that understands NVTX: counts ranges by name, and those that are open.
// Source: NVTX 3, nvtx3/nvtxDetail/nvtxTypes.h: what an injected library is called with.
#include <map>
#include <mutex>
#include <string>

#include <nvtx3/nvToolsExt.h>

namespace {

std::mutex mutex;  // guards all of them
std::string of_domain;
std::map<std::string, int> begun;
int open_ranges = 0;
thread_local int depth = 0;

nvtxDomainHandle_t NVTX_API create(const char* name) {
  const std::scoped_lock lock(mutex);
  of_domain = name;
  static int one = 0;
  return reinterpret_cast<nvtxDomainHandle_t>(&one);
}

int NVTX_API push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  const std::scoped_lock lock(mutex);
  ++begun[attributes->message.ascii];
  ++open_ranges;
  return depth++;
}

int NVTX_API pop(nvtxDomainHandle_t) {
  const std::scoped_lock lock(mutex);
  --open_ranges;
  return --depth;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(create);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

__attribute__((visibility("default"))) int recorded(const char* name) {
  const std::scoped_lock lock(mutex);
  return begun[name];
}
__attribute__((visibility("default"))) int recorded_open() {
  const std::scoped_lock lock(mutex);
  return open_ranges;
}
__attribute__((visibility("default"))) const char* recorded_domain() {
  return of_domain.c_str();
}
}
