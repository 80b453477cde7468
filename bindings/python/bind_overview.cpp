// Binds the overview of profiler traces.
#include <filesystem>
#include <string>
#include <vector>

#include <overview/overview.hpp>

#include "bind.hpp"
#include "interpreter.hpp"

namespace penstock::python {
namespace {

nb::tuple read_overview(const std::vector<std::filesystem::path>& traces, const nb::object& progress) {
  const auto tell = [&progress](std::uint64_t read, std::uint64_t of) {
    check_signals();
    if (progress.is_none()) return true;
    const nb::gil_scoped_acquire held;
    progress(read, of, read);
    return true;
  };
  std::string screen, page, figures;
  without_interpreter([&] {
    const overview::Overview found = overview::overview_of(traces, tell);
    screen = to_text(found);
    page = to_html(found);
    figures = to_json(found);
  });
  return nb::make_tuple(text(screen), text(page), text(figures));
}

}  // namespace

void bind_overview(nb::module_& module) {
  module.def("read_overview", read_overview, nb::arg("traces"), nb::arg("progress").none(),
             nb::sig("def read_overview(traces: collections.abc.Sequence[str | os.PathLike[str]], "
                     "progress: collections.abc.Callable[[int, int, int], object] | None) -> tuple[str, str, str]"),
             "Returns the screen, the page and the figures (JSON) of penstock.overview().");
}

}  // namespace penstock::python
