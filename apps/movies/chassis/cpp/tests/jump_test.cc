#include "jump.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace chassis {
namespace {

nlohmann::json vectors() { return nlohmann::json::parse(std::ifstream(CONTRACT "/vectors.json")); }

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t at = 0; at < hex.size(); at += 2) bytes.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

}  // namespace

TEST(Jump, AgreesWithTheVectorsOfTheContract) {
  const nlohmann::json all = vectors();
  for (const auto& one : all.at("fnv1a64")) {
    std::string key = from_hex(one.at("key_hex").get<std::string>());
    EXPECT_EQ(fnv1a64(key), std::stoull(one.at("hash").get<std::string>())) << key;
    for (const auto& [shards, shard] : one.at("shards").items()) EXPECT_EQ(shard_of(key, std::stoul(shards)), shard) << key;
  }
  for (const auto& one : all.at("jump")) {
    uint64_t key = std::stoull(one.at("key").get<std::string>());
    for (const auto& [shards, shard] : one.at("shards").items()) EXPECT_EQ(jump_hash(key, std::stoi(shards)), shard) << key;
  }
}

TEST(Jump, MovesKeysOnlyToTheShardThatIsNew) {
  for (uint64_t key = 0; key < 1000; key++) {
    for (int shards = 1; shards < 20; shards++) {
      int before = jump_hash(fnv1a64(std::to_string(key)), shards), after = jump_hash(fnv1a64(std::to_string(key)), shards + 1);
      EXPECT_TRUE(after == before || after == shards);
    }
  }
}

}  // namespace chassis
