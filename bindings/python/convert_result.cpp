#include "convert_result.hpp"

#include "bind.hpp"
#include "interpreter.hpp"
#include "stats.hpp"

namespace penstock::python {

namespace nb = nanobind;

std::function<bool(const ConvertProgress&)> teller(const nb::object& progress) {
  return [&progress](const ConvertProgress& now) {
    check_signals();
    if (progress.is_none()) return true;
    const nb::gil_scoped_acquire held;
    progress(now.samples, now.total_samples, now.bytes);
    return true;
  };
}

nb::dict summary(const ConvertResult& result) {
  nb::dict told;
  told["samples"] = result.samples;
  told["bytes"] = result.bytes;
  told["skipped"] = result.skipped;
  told["resumed"] = result.resumed;
  told["bad"] = bad_samples(result.bad);
  nb::dict kept;
  for (const auto& [reason, count] : result.kept) kept[nb::str(reason.data(), reason.size())] = count;
  told["kept"] = kept;
  told["renamed"] = text(result.renamed_key);
  return told;
}

}  // namespace penstock::python
