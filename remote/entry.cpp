#include <cstdlib>

#include <openssl/crypto.h>
#include <pthread.h>

#include <formats/places/object_store_entry.hpp>
#include <remote/store/remote_store.hpp>

namespace penstock {
namespace {

RemoteStore* the_store = nullptr;

RemoteStore& make_the_store() {
  the_store = new RemoteStore;  // never deleted: threads may outlive static objects
  ::pthread_atfork([] { the_store->hold_for_fork(); }, [] { the_store->let_go(); },
                   [] {
                     the_store->begin_child();
                     the_store->let_go();
                   });
  return *the_store;
}

void end_the_store() {
  the_store->end();
}

// Runs before OpenSSL's own cleanup while requests may be in flight: handlers run in reverse order of registration.
void end_with_the_process() {
  static_cast<void>(::OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr));  // registers OpenSSL's cleanup
  static_cast<void>(std::atexit(end_the_store));
}

}  // namespace
}  // namespace penstock

extern "C" __attribute__((visibility("default"))) penstock::ObjectStore* penstock_remote_0_1_0() {
  static penstock::RemoteStore& store = penstock::make_the_store();
  static const bool registered = (penstock::end_with_the_process(), true);
  static_cast<void>(registered);
  return &store;
}
