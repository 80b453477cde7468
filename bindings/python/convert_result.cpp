#include "convert_result.hpp"

#include <penstock/formats/error.hpp>

#include "interpreter.hpp"
#include "stats.hpp"

namespace penstock::python {

namespace nb = nanobind;

bool skips_bad(const std::string& on_error) {
  if (on_error != "raise" && on_error != "skip")
    throw Error::invalid_argument("on_error is \"raise\" or \"skip\", not \"" + on_error + "\"");
  return on_error == "skip";
}

PixelRecoding pixels_of(const nb::object& decode) {
  if (decode.is_none() || decode.ptr() == Py_False) return {};
  if (decode.ptr() == Py_True) return pixel_recoding("same");
  const std::string text = nb::cast<std::string>(nb::str(decode));
  if (text.empty()) throw Error::invalid_argument("decode is empty; a size, or True");
  return pixel_recoding(text);
}

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
  return told;
}

}  // namespace penstock::python
