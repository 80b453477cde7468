#include <new>
#include <stdexcept>

#include <penstock/loader/caught.hpp>

namespace penstock {

Error error_of(const std::exception_ptr& failure, const ErrorContext& where) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.in(where);
  } catch (const std::bad_alloc&) {
    return Error::resource("there is not enough memory", where);
  } catch (const std::length_error&) {
    return Error::resource("there is not enough memory", where);
  } catch (const std::exception& error) {
    return Error::resource(error.what(), where);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return Error::resource("an exception of an unknown type", where);
  }
}

}  // namespace penstock
