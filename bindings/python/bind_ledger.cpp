#include <filesystem>
#include <optional>

#include <nanobind/nanobind.h>

#include <penstock/ledger.hpp>

#include "bind.hpp"
#include "door.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"

namespace penstock::python {
namespace {

nb::tuple audit_of(const std::filesystem::path& ledger, const nb::object& dataset) {
  std::optional<Dataset> opened;
  if (!dataset.is_none()) opened = open_dataset(dataset);
  const auto [json, table] = without_interpreter([&] {
    return through_door({}, [&] {
      const LedgerAudit audit = audit_ledger(ledger, opened ? &*opened : nullptr);
      return std::pair(to_json(audit), to_text(audit));
    });
  });
  return nb::make_tuple(text(json), text(table));
}

}  // namespace

void bind_ledger(nb::module_& module) {
  module.def("audit", audit_of, nb::arg("ledger"), nb::arg("dataset") = nb::none(),
             nb::sig("def audit(ledger: str | os.PathLike[str], dataset: typing.Any = None) -> tuple[str, str]"),
             "Returns the audit as JSON and as a table.");
}

}  // namespace penstock::python
