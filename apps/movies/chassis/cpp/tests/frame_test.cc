#include "frame.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "inbox.h"
#include "socket.h"

namespace chassis {
namespace {

struct Golden {
  std::string name;
  std::map<std::string, std::string> about;
  std::string bytes;
};

std::vector<Golden> all_golden() {
  std::vector<Golden> all;
  for (const auto& file : std::filesystem::directory_iterator(CONTRACT "/golden")) {
    Golden golden;
    golden.name = file.path().filename();
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("# ", 0) == 0) {
        size_t colon = line.find(": ");
        golden.about[line.substr(2, colon - 2)] = line.substr(colon + 2);
        continue;
      }
      std::istringstream words(line);
      for (std::string word; words >> word;) golden.bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
    }
    all.push_back(golden);
  }
  return all;
}

/** As a server takes it from a connection that then ends. */
bool is_taken(const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Socket here(ends[0]), there(ends[1]);
  Inbox inbox;
  there.send(bytes, "", INT64_MAX);
  shutdown(there.descriptor(), SHUT_WR);
  while (inbox.read(here.descriptor()) == Inbox::Got::kBytes) {
  }
  std::string_view body;
  if (inbox.peek_frame(body) != Inbox::Next::kFrame) return false;
  return Frame::parse(body).has_value();
}

std::string_view body_of(const std::string& bytes) { return std::string_view(bytes).substr(4); }

}  // namespace

TEST(Frame, TakesTheGoldenFramesAndNoOthers) {
  auto all = all_golden();
  ASSERT_GT(all.size(), 30u);
  for (const Golden& golden : all) {
    bool taken = is_taken(golden.bytes);
    if (golden.about.at("accept") == "yes") {
      EXPECT_TRUE(taken) << golden.name;
    } else if (golden.about.at("level") == "frame") {
      EXPECT_FALSE(taken && MessageHead::parse_call(Frame::parse(body_of(golden.bytes))->message)) << golden.name;
    }
  }
}

TEST(Frame, ReadsWhatTheGoldenRequestHas) {
  for (const Golden& golden : all_golden()) {
    if (golden.name != "header-request.hex") continue;
    Frame frame = *Frame::parse(body_of(golden.bytes));
    EXPECT_TRUE(frame.has_header);
    EXPECT_EQ(frame.sequence, 9u);
    EXPECT_EQ(frame.traceparent, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    EXPECT_EQ(frame.deadline, "250");
    MessageHead head = *MessageHead::parse_call(frame.message);
    EXPECT_EQ(head.name, "read");
    EXPECT_EQ(head.sequence, 9);
    // And writes the same bytes.
    std::string again = header_before(9, {{"traceparent", frame.traceparent}, {"d", "250"}}, frame.message.size());
    EXPECT_EQ(again.append(frame.message), golden.bytes);
  }
}

TEST(Frame, ReadsWhatItWrites) {
  const std::string message = "\x80\x01";
  for (size_t size : {0, 1, 2, 3, 4, 127, 128, 300}) {
    std::string value(size, 'v');
    std::string bytes = header_before(0xfffffffe, {{"d", value}}, message.size()) + message;
    auto frame = Frame::parse(body_of(bytes));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->sequence, 0xfffffffe);
    EXPECT_EQ(frame->deadline, value);
    EXPECT_EQ(frame->message, message);
  }
  EXPECT_EQ(length_before(258), std::string("\0\0\1\2", 4));
}

TEST(Frame, TakesRandomBytes) {
  std::mt19937 random(1);
  std::vector<std::string> seeds;
  for (const Golden& golden : all_golden()) seeds.push_back(golden.bytes);
  size_t taken = 0;
  for (int round = 0; round < 200'000; round++) {
    std::string bytes = seeds[random() % seeds.size()];
    if (bytes.size() < 5) continue;
    bytes.resize(5 + random() % (bytes.size() - 4));
    for (size_t changes = random() % 4; changes > 0; changes--) bytes[random() % bytes.size()] = static_cast<char>(random());
    auto frame = Frame::parse(body_of(bytes));
    if (!frame) continue;
    taken++;
    MessageHead::parse_call(frame->message);
    is_refusal(frame->message);
  }
  EXPECT_GT(taken, 1000u);
}

TEST(Times, AreThreeNumbers) {
  auto times = Times::parse("7,1099511627776,999999999999999999");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->queue, 7);
  EXPECT_EQ(times->application, int64_t{1} << 40);
  EXPECT_EQ(times->cpu, 999999999999999999);
  for (const char* text : {"", "1", "1,2", "1,2,", ",2,3", "1,2,3,", "1,2,3,4", "-1,2,3", "1 ,2,3", "1,2,x", "1,2,1000000000000000000"}) {
    EXPECT_FALSE(Times::parse(text)) << text;
  }
}

TEST(Frame, KnowsARefusalFromAResult) {
  std::string head("\x80\x01\0\2\0\0\0\1x\0\0\0\1", 13);
  EXPECT_TRUE(is_refusal(head + std::string("\x0c\0\1", 3)));
  EXPECT_FALSE(is_refusal(head + std::string("\x0c\0\0", 3)));
  EXPECT_FALSE(is_refusal(head + std::string("\0", 1)));
  EXPECT_FALSE(is_refusal(head));
}

}  // namespace chassis
