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

/** 8 KiB, so that a buffer is written with one call well before a thread waits for it. */
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
    while (!stop_.wait_for(lock, kFlushEach, [this] { return stopping_; })) {
      lock.unlock();
      flush();
      lock.lock();
    }
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

Spans::Buffer& Spans::of_thread() {
  // There is one of these in a process; tests make several, one after the other.
  thread_local std::pair<Spans*, std::shared_ptr<Buffer>> own;
  if (own.first != this) {
    own = {this, std::make_shared<Buffer>()};
    own.second->spans.reserve(kBuffered);
    std::lock_guard lock(mutex_);
    buffers_.push_back(own.second);
  }
  return *own.second;
}

void Spans::add(Span span) {
  if (file_ < 0) return;
  span.service = service_;
  span.instance = instance_;
  fill_stamps(span.stamps);
  Buffer& buffer = of_thread();
  std::lock_guard lock(buffer.mutex);
  buffer.spans.push_back(span);
  count_++;
  if (buffer.spans.size() >= kBuffered) write(buffer.spans);
}

void Spans::flush() {
  std::vector<std::shared_ptr<Buffer>> buffers;
  {
    std::lock_guard lock(mutex_);
    buffers = buffers_;
  }
  for (auto& buffer : buffers) {
    std::lock_guard lock(buffer->mutex);
    write(buffer->spans);
  }
}

void Spans::write(std::vector<Span>& spans) {
  if (spans.empty()) return;
  std::lock_guard lock(writing_);
  if (!write_all(file_, spans.data(), spans.size() * sizeof(Span))) {
    log_error("spans are lost: they cannot be written", {{"spans", spans.size()}, {"error", strerror(errno)}});
  }
  spans.clear();
}

}  // namespace chassis
