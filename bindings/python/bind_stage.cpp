#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include <penstock/stage.hpp>

#include "bind.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"

namespace penstock::python {
namespace {

nb::dict stage_summary(const StageResult& result) {
  return dict_of(
      {{"opens", result.opens.native()},
       {"files", result.files},
       {"bytes", result.bytes},
       {"kept_files", result.kept_files},
       {"kept_bytes", result.kept_bytes},
       {"linked_files", result.linked_files},
       {"linked_bytes", result.linked_bytes},
       {"seconds", result.seconds},
       {"mb_per_s", result.mb_per_s()},
       {"engine", result.engine == EngineKind::automatic ? nb::object(nb::none()) : text(name(result.engine))},
       {"engine_reason", result.engine_reason}});
}

nb::dict stage_dataset(nb::handle source, const std::filesystem::path& destination, unsigned workers,
                       const std::string& engine, bool overwrite, std::optional<bool> verify,
                       std::optional<double> within, const nb::object& progress) {
  StageOptions options{.workers = workers, .engine = engine_named(engine), .overwrite = overwrite};
  if (within) options.within = std::chrono::duration<double>(*within);
  if (verify) options.verify = *verify ? StageVerify::always : StageVerify::never;
  const Dataset dataset = open_dataset(source);
  const auto tell = [&progress](const StageProgress& now) {
    check_signals();
    if (progress.is_none() || now.waiting) return true;
    const nb::gil_scoped_acquire held;
    progress(now.bytes, now.total_bytes, now.copied_bytes);
    return true;
  };
  return stage_summary(without_interpreter([&] { return stage(dataset, destination, options, tell); }));
}

}  // namespace

void bind_stage(nb::module_& module) {
  module.def("stage", stage_dataset, nb::arg("source"), nb::arg("destination"), nb::kw_only(), nb::arg("workers") = 0,
             nb::arg("engine") = "auto", nb::arg("overwrite") = false, nb::arg("verify") = nb::none(),
             nb::arg("within") = nb::none(), nb::arg("progress") = nb::none());
}

}  // namespace penstock::python
