#pragma once

#include <stdexcept>
#include <string>

#include "idl/movies_types.h"

namespace chassis {

/** The time is used up. The text begins with `deadline: `. */
struct DeadlineSpent : std::runtime_error {
  explicit DeadlineSpent(const std::string& what) : std::runtime_error("deadline: " + what) {}
};

/** A store or service that is needed did not answer. Its text begins `unavailable: `. */
struct Unavailable : std::runtime_error {
  explicit Unavailable(const std::string& what) : std::runtime_error("unavailable: " + what) {}
};

/** A service that is called, or one behind it, takes no more; its name is in the text, which begins `overloaded: `. */
struct Overloaded : std::runtime_error {
  explicit Overloaded(const std::string& what) : std::runtime_error("overloaded: " + what) {}
};

/** A connection that is of no more use; the same question may be asked on another. */
struct ConnectionLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void refuse(movies::Code::type code, const std::string& what) {
  movies::Refused refused;
  refused.code = code;
  refused.reason = what;
  throw refused;
}

}  // namespace chassis
