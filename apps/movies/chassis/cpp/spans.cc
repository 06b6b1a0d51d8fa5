#include "spans.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "clock.h"
#include "log.h"

namespace chassis {
namespace {

/** 8 KiB, so that it takes few calls to write them. */
constexpr size_t kBuffered = 64;
constexpr auto kFlushEach = std::chrono::milliseconds(100);

bool write_all(int file, const void* bytes, size_t size) {
  auto at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = ::write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

SpanFileHead head_of(const Config& config) {
  SpanFileHead head;
  head.service = config.id;
  head.instance = config.instance;
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  std::copy_n(boot_id.begin(), std::min(boot_id.size(), head.boot_id.size()), head.boot_id.begin());
  head.wall_offset_ns = read_clock(CLOCK_REALTIME) - now_ns();
  head.pid = static_cast<uint64_t>(getpid());
  return head;
}

}  // namespace

void fill_stamps(std::array<int64_t, 6>& stamps) {
  for (size_t at = 1; at < stamps.size(); at++) stamps[at] = std::max(stamps[at], stamps[at - 1]);
}

Spans::Spans(const Config& config) : service_(config.id), instance_(config.instance) {
  if (config.spans.empty()) return;
  file_ = open(config.spans.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  SpanFileHead head = head_of(config);
  if (file_ < 0 || !write_all(file_, &head, sizeof head)) {
    throw std::runtime_error("spans: " + config.spans + ": " + strerror(errno));
  }
  flusher_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, kFlushEach, [this] { return stopping_; })) write();
  });
}

Spans::~Spans() {
  if (file_ < 0) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  flusher_.join();
  flush();
  close(file_);
}

void Spans::add(Span span) {
  if (file_ < 0) return;
  span.service = service_;
  span.instance = instance_;
  fill_stamps(span.stamps);
  std::lock_guard lock(mutex_);
  buffer_.push_back(span);
  count_++;
  if (buffer_.size() >= kBuffered) write();
}

void Spans::flush() {
  std::lock_guard lock(mutex_);
  write();
}

void Spans::write() {
  if (!write_all(file_, buffer_.data(), buffer_.size() * sizeof(Span))) {
    log_error("spans are lost: they cannot be written", {{"spans", buffer_.size()}, {"error", strerror(errno)}});
  }
  buffer_.clear();
}

}  // namespace chassis
