// What every way of packing has in common on its way to and from Python.
#pragma once

#include <functional>
#include <string>

#include <nanobind/nanobind.h>

#include <penstock/loader/convert.hpp>

namespace penstock::python {

/// "raise" or "skip". Throws Error: invalid_argument.
bool skips_bad(const std::string& on_error);

/// `decode` of pack: None or False, True ("same"), a number of pixels, or a text for pixel_recoding().
/// Throws Error: invalid_argument.
PixelRecoding pixels_of(const nanobind::object& decode);

/// Calls `progress`, unless it is None, with (samples, total, bytes); for use without the interpreter. Ctrl-C and what
/// `progress` raises are thrown. `progress` must outlive it.
std::function<bool(const ConvertProgress&)> teller(const nanobind::object& progress);

/// {"samples", "bytes", "skipped", "resumed", "bad": [...], "kept": {reason: count}}
nanobind::dict summary(const ConvertResult& result);

}  // namespace penstock::python
