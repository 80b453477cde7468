#include <penstock/options.hpp>

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

std::string_view name(FinishOn place) {
  switch (place) {
    case FinishOn::automatic:
      return "auto";
    case FinishOn::host:
      return "host";
    case FinishOn::device:
      return "device";
  }
  return "";
}

}  // namespace penstock
