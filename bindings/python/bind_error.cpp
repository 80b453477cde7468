#include <array>
#include <exception>

#include <nanobind/nanobind.h>

#include <base/handled_error.hpp>
#include <penstock/error.hpp>

#include "bind.hpp"
#include "interpreter.hpp"

namespace penstock::python {
namespace {

// The kind as programs compare it; name() is for people.
const char* kind_of(const Error& error) {
  static constexpr std::array kKinds{"invalid_argument", "io", "corrupt", "unsupported", "shape", "resource"};
  return kKinds[static_cast<std::size_t>(error.kind())];
}

// Raises penstock.Error, which is a Python class so that users may subclass, pickle and catch it like any other.
void raise(const Error& error) {
  const nb::object type = nb::module_::import_("penstock._error").attr("Error");
  const ErrorContext& context = error.context();
  const nb::object instance = type(text(error.what()));
  instance.attr("kind") = kind_of(error);
  instance.attr("cause") = text(error.cause());
  instance.attr("dataset") = text(context.dataset);
  instance.attr("shard") = text(context.shard);
  instance.attr("key") = text(context.key);
  instance.attr("field") = text(context.field);
  instance.attr("offset") = context.offset;
  PyErr_SetObject(type.ptr(), instance.ptr());
}

void restore(const std::exception_ptr& raised) {
  try {
    std::rethrow_exception(raised);
  } catch (nb::python_error& error) {
    error.restore();
  }
}

}  // namespace

void bind_error(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      // A signal handler's exception is the cause of the end, so it replaces the exception that the interrupted work
      // made.
      if (const std::exception_ptr raised = take_raised_meanwhile()) return restore(raised);
      std::rethrow_exception(thrown);
    } catch (const nb::python_error&) {
      throw;
    } catch (const nb::builtin_exception&) {
      throw;
    } catch (const nb::cast_error&) {
      PyErr_SetString(PyExc_TypeError, "penstock: the type of a value is not accepted here");
    } catch (...) {
      raise(handled_error());
    }
  });
}

}  // namespace penstock::python
