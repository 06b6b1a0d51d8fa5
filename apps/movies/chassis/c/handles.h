#pragma once

#include <deque>
#include <exception>
#include <stdexcept>
#include <string>

#include "chassis.h"
#include "service.h"

/** What the names of `chassis.h` stand for in C++. */

struct bytes {
  std::string text;
};

/** The reason of a failure, between the function of the chassis that failed and the return of C. */
struct Reason {
  std::exception_ptr error;

  template <class Work>
  bool guarded(Work work) noexcept {
    try {
      work();
      return true;
    } catch (...) {
      error = std::current_exception();
      return false;
    }
  }

  /** Throws the reason of a function of C that returned false. */
  void check(bool ok) const {
    if (ok) return;
    if (error) std::rethrow_exception(error);
    throw std::logic_error("a function of C failed without a reason");
  }
};

struct service : Reason {
  explicit service(chassis::Service& core) : core(core) {}
  chassis::Service& core;
};

struct request : Reason {
  explicit request(chassis::Service& core) : core(core) {}
  bytes* keep(std::string text) { return &found.emplace_back(bytes{std::move(text)}); }

  chassis::Service& core;
  /** A deque, as its elements stay in their places. */
  std::deque<bytes> found;
};
