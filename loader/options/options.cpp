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

std::string_view name(Where where) {
  switch (where) {
    case Where::automatic:
      return "auto";
    case Where::host:
      return "host";
    case Where::device:
      return "device";
  }
  return "";
}

}  // namespace penstock
