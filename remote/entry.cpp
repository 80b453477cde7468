#include <cstdlib>

#include <pthread.h>

#include <penstock/formats/places/object_store_entry.hpp>
#include <penstock/remote/store/remote_store.hpp>

namespace penstock {
namespace {

RemoteStore* the_store = nullptr;

RemoteStore& make_the_store() {
  the_store = new RemoteStore;  // for ever: threads may outlive static objects
  ::pthread_atfork([] { the_store->hold_for_fork(); }, [] { the_store->let_go(); },
                   [] {
                     the_store->begin_child();
                     the_store->let_go();
                   });
  return *the_store;
}

// Before OpenSSL takes itself down, which it registered earlier or will never need to.
void end_the_store() {
  the_store->end();
}

}  // namespace
}  // namespace penstock

extern "C" __attribute__((visibility("default"))) penstock::ObjectStore* penstock_remote_0_1_0() {
  static penstock::RemoteStore& store = penstock::make_the_store();
  static const int registered = std::atexit(penstock::end_the_store);
  static_cast<void>(registered);
  return &store;
}
