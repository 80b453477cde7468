#include <penstock/order.hpp>

namespace penstock {

std::string_view name(Last last) {
  switch (last) {
    case Last::keep:
      return "keep";
    case Last::drop:
      return "drop";
    case Last::pad:
      return "pad";
  }
  return "";
}

std::string_view name(Missing missing) {
  switch (missing) {
    case Missing::raise:
      return "raise";
    case Missing::exclude:
      return "exclude";
    case Missing::empty:
      return "empty";
  }
  return "";
}

}  // namespace penstock
