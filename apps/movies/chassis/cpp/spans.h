#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config.h"

namespace chassis {

enum class Kind : uint8_t { kServer = 0, kClient = 1, kStore = 2 };
enum class Outcome : uint8_t { kOk = 0, kRefused = 1, kFailed = 2, kDeadline = 3 };

/** Method of a span of a store. */
enum StoreMethod : uint16_t { kGet = 0, kGetMany = 1, kInsert = 2, kUpdate = 3, kDelete = 4 };

constexpr uint16_t kRetried = 1;

/** One piece of a request's time, as it lies in the file: 128 bytes, little endian. */
struct Span {
  uint32_t magic = 0x314e5053;  // SPN1
  uint16_t service = 0;
  uint16_t instance = 0;
  /** Number of the callee or store; 0 of a server's. */
  uint16_t peer = 0;
  uint16_t method = 0;
  Kind kind = Kind::kServer;
  Outcome outcome = Outcome::kOk;
  uint16_t flags = 0;
  std::array<uint8_t, 16> trace{};
  uint64_t span = 0;
  uint64_t parent = 0;
  /** a to f. CLOCK_MONOTONIC. Units: ns. */
  std::array<int64_t, 6> stamps{};
  int64_t cpu_ns = 0;
  uint32_t bytes_in = 0;
  uint32_t bytes_out = 0;
  std::array<uint8_t, 16> rest{};
};

/** First record of a file. */
struct SpanFileHead {
  uint32_t magic = 0x31485053;  // SPH1
  uint16_t version = 1;
  uint16_t service = 0;
  uint16_t instance = 0;
  std::array<uint8_t, 6> rest0{};
  std::array<char, 36> boot_id{};
  std::array<uint8_t, 4> rest1{};
  /** CLOCK_REALTIME - CLOCK_MONOTONIC. */
  int64_t wall_offset_ns = 0;
  uint64_t pid = 0;
  std::array<uint8_t, 56> rest2{};
};

static_assert(sizeof(Span) == 128 && sizeof(SpanFileHead) == 128);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "spans are written as they lie in memory");

/** Makes no stamp earlier than the one before: stages not reached take no time. */
void fill_stamps(std::array<int64_t, 6>& stamps);

/** Where spans of all threads go: to a buffer, which is appended to the file when it is full, and by a thread each 100 ms. */
class Spans {
 public:
  /** Errors: `std::runtime_error`, where the file cannot be made. */
  explicit Spans(const Config& config);
  ~Spans();

  bool is_on() const { return file_ >= 0; }
  void add(Span span);
  void flush();
  int64_t count() const { return count_; }

 private:
  /** Only with the lock. */
  void write();

  const uint16_t service_, instance_;
  int file_ = -1;
  std::atomic<int64_t> count_{0};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::vector<Span> buffer_;
  std::thread flusher_;
};

}  // namespace chassis
