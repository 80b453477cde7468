// Binds a step whose table tells its parameters: name, signature and docstring.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <penstock/transforms/chain/check_numbers.hpp>
#include <penstock/transforms/chain/step_tables.hpp>

#include "bind.hpp"

namespace penstock::python {

/// "most: highest ratio, from 0 to 1" for each parameter, behind what the step does.
template <HasTable Kind>
std::string step_docstring() {
  std::string doc(StepTable<Kind>::kMeaning);
  for_each_parameter<Kind>([&](const auto& parameter) {
    doc += "\n" + std::string(parameter.name) + ": " + std::string(parameter.meaning);
    if (!parameter.unit.empty()) doc += ", in " + std::string(parameter.unit);
    doc += ".";
  });
  return doc;
}

template <HasTable Kind, std::size_t Place>
auto step_argument() {
  constexpr const auto& kParameter = std::get<Place>(StepTable<Kind>::kParameters);
  if constexpr (kParameter.usual.has_value()) {
    return nb::arg(kParameter.name.data()) = *kParameter.usual;
  } else {
    return nb::arg(kParameter.name.data());
  }
}

template <HasTable Kind>
void bind_step(nb::module_& module) {
  using Table = StepTable<Kind>;
  const std::string name(Table::kName.substr(Table::kName.rfind('.') + 1)), doc = step_docstring<Kind>();
  [&]<std::size_t... Place>(std::index_sequence<Place...>) {
    module.def(
        name.c_str(),
        [](decltype(*std::get<Place>(Table::kParameters).usual + 0)... values) {
          Kind step{};
          ((step.*std::get<Place>(Table::kParameters).member = values), ...);
          return one_step(step);
        },
        step_argument<Kind, Place>()..., doc.c_str());
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(Table::kParameters)>>{});
}

}  // namespace penstock::python
