#include <base/caught.hpp>
#include <base/handled_error.hpp>

namespace penstock {

Error error_of(const std::exception_ptr& failure, const ErrorContext& where) {
  try {
    std::rethrow_exception(failure);
  } catch (...) {
    return handled_error(where);
  }
}

}  // namespace penstock
