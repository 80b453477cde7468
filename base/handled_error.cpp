#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <cxxabi.h>

#include <base/handled_error.hpp>

namespace penstock {

Error handled_error(const ErrorContext& where) {
  try {
    throw;
#ifndef _LIBCPP_VERSION
  } catch (const abi::__forced_unwind&) {  // the end of a thread, which must not be stopped
    throw;
#endif
  } catch (const Error& error) {
    return error.in(where);
  } catch (const std::bad_alloc&) {
    return Error::resource("there is not enough memory", where);
  } catch (const std::length_error&) {
    return Error::resource("there is not enough memory", where);
  } catch (const std::system_error& failure) {
    return {ErrorKind::io, failure.what(), where};
  } catch (const std::exception& failure) {
    return Error::resource(std::string("an unexpected failure: ") + failure.what(), where);
  } catch (...) {
    return Error::resource("an exception of an unknown type", where);
  }
}

}  // namespace penstock
