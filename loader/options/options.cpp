#include <penstock/loader/options/options.hpp>

namespace penstock {

std::string_view name(OnError policy) {
  switch (policy) {
    case OnError::raise:
      return "raise";
    case OnError::replace:
      return "replace";
    case OnError::mark:
      return "mark";
  }
  return "";
}

}  // namespace penstock
