#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chassis {

/** FNV-1a of 64 bits. Source: draft-eastlake-fnv. */
inline uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

/** Which of `shards` has a key: jump consistent hash. Source: Lamping and Veach, arXiv:1406.2294. */
inline int32_t jump_hash(uint64_t key, int32_t shards) {
  int64_t shard = -1, next = 0;
  while (next < shards) {
    shard = next;
    key = key * 2862933555777941757u + 1;
    next = static_cast<int64_t>(static_cast<double>(shard + 1) * (2147483648.0 / static_cast<double>((key >> 33) + 1)));
  }
  return static_cast<int32_t>(shard);
}

/** The hash that chooses the replica for a number: of its decimal text. */
inline uint64_t hash_of(int64_t number) { return fnv1a64(std::to_string(number)); }

inline size_t shard_of(std::string_view key, size_t shards) {
  return shards == 1 ? 0 : static_cast<size_t>(jump_hash(fnv1a64(key), static_cast<int32_t>(shards)));
}

}  // namespace chassis
