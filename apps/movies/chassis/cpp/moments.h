#pragma once

#include <thrift/TProcessor.h>

#include <array>
#include <exception>

#include "clock.h"

namespace chassis {

/** Stamps and exception of one request, filled while the generated processor works on it. */
struct Moments {
  /** a to f, as in the span of a server. */
  std::array<int64_t, 6> stamps{};
  /** A handler's exception that the interface does not declare. */
  std::exception_ptr error;
};

/** Hears from the generated processor when it has decoded and handled. */
class MomentsHandler : public apache::thrift::TProcessorEventHandler {
 public:
  void* getContext(const char*, void* moments) override { return moments; }
  void postRead(void* moments, const char*, uint32_t) override { stamp(moments, 2); }
  void preWrite(void* moments, const char*) override { stamp(moments, 3); }
  void handlerError(void* moments, const char*) override {
    stamp(moments, 3);
    static_cast<Moments*>(moments)->error = std::current_exception();
  }

 private:
  static void stamp(void* moments, size_t place) { static_cast<Moments*>(moments)->stamps[place] = now_ns(); }
};

}  // namespace chassis
