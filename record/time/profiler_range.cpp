#include <cstdlib>

#include <record/time/profiler_range.hpp>

#ifdef PENSTOCK_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace penstock {

#ifdef PENSTOCK_NVTX

namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t ours = ::nvtxDomainCreateA("penstock");  // never destroyed
  return ours;
}

}  // namespace

const bool ProfilerRange::attached = std::getenv("NVTX_INJECTION64_PATH") != nullptr;

bool ProfilerRange::begin(const char* name) noexcept {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  ::nvtxDomainRangePushEx(domain(), &attributes);
  return true;
}

void ProfilerRange::end() noexcept {
  ::nvtxDomainRangePop(domain());
}

#else

const bool ProfilerRange::attached = false;

bool ProfilerRange::begin(const char* /*name*/) noexcept {
  return false;
}

void ProfilerRange::end() noexcept {}

#endif

}  // namespace penstock
