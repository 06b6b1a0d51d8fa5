#include "spans.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace chassis {
namespace {

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("movies-cpp-" + std::to_string(getpid()) + "-" + name)).string();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <class Value>
Value at(const std::string& bytes, size_t place) {
  Value value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

}  // namespace

TEST(Spans, LieWhereTheContractSays) {
  EXPECT_EQ(offsetof(Span, service), 4u);
  EXPECT_EQ(offsetof(Span, instance), 6u);
  EXPECT_EQ(offsetof(Span, peer), 8u);
  EXPECT_EQ(offsetof(Span, method), 10u);
  EXPECT_EQ(offsetof(Span, kind), 12u);
  EXPECT_EQ(offsetof(Span, outcome), 13u);
  EXPECT_EQ(offsetof(Span, flags), 14u);
  EXPECT_EQ(offsetof(Span, trace), 16u);
  EXPECT_EQ(offsetof(Span, span), 32u);
  EXPECT_EQ(offsetof(Span, parent), 40u);
  EXPECT_EQ(offsetof(Span, stamps), 48u);
  EXPECT_EQ(offsetof(Span, cpu_ns), 96u);
  EXPECT_EQ(offsetof(Span, bytes_in), 104u);
  EXPECT_EQ(offsetof(Span, bytes_out), 108u);
  EXPECT_EQ(offsetof(SpanFileHead, boot_id), 16u);
  EXPECT_EQ(offsetof(SpanFileHead, wall_offset_ns), 56u);
  EXPECT_EQ(offsetof(SpanFileHead, pid), 64u);
}

TEST(Spans, OfAllThreadsReachTheFile) {
  Config config;
  config.id = 6;
  config.instance = 3;
  config.spans = temporary("all.spans");
  constexpr int kThreads = 4, kEach = 1000;
  {
    Spans spans(config);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&spans, thread] {
        for (int at = 0; at < kEach; at++) {
          Span span;
          span.span = static_cast<uint64_t>(thread * kEach + at + 1);
          span.stamps = {5, 0, 0, 0, 0, 9};
          spans.add(span);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(spans.count(), kThreads * kEach);
  }
  std::string bytes = read_file(config.spans);
  std::filesystem::remove(config.spans);
  ASSERT_EQ(bytes.size(), 128u * (1 + kThreads * kEach));
  EXPECT_EQ(bytes.substr(0, 4), "SPH1");
  EXPECT_EQ(at<uint16_t>(bytes, 4), 1);
  EXPECT_EQ(at<uint16_t>(bytes, 6), 6);
  EXPECT_EQ(at<uint16_t>(bytes, 8), 3);
  EXPECT_EQ(bytes[16 + 8], '-');
  EXPECT_EQ(at<uint64_t>(bytes, 64), static_cast<uint64_t>(getpid()));
  uint64_t sum = 0;
  for (size_t place = 128; place < bytes.size(); place += 128) {
    EXPECT_EQ(bytes.substr(place, 4), "SPN1");
    EXPECT_EQ(at<uint16_t>(bytes, place + 4), 6);
    EXPECT_EQ(at<int64_t>(bytes, place + 56), 5) << "a stamp that was not reached is that before";
    sum += at<uint64_t>(bytes, place + 32);
  }
  EXPECT_EQ(sum, uint64_t{kThreads * kEach} * (kThreads * kEach + 1) / 2);
}

TEST(Spans, AreNotWrittenWithoutAFile) {
  Spans spans(Config{});
  EXPECT_FALSE(spans.is_on());
  spans.add(Span{});
  EXPECT_EQ(spans.count(), 0);
}

TEST(Spans, SayWhichFileCannotBeMade) {
  Config config;
  config.spans = "/nowhere/x.spans";
  EXPECT_THROW(Spans spans(config), std::runtime_error);
}

}  // namespace chassis
