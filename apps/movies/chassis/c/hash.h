#pragma once

#include <stddef.h>
#include <stdint.h>

/** FNV-1a of 64 bits. Source: draft-eastlake-fnv. */
static inline uint64_t fnv1a64(const void *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001b3;
  return hash;
}

/** Which of `shards` has a key: jump consistent hash. Source: Lamping and Veach, arXiv:1406.2294. */
static inline uint32_t jump_hash(uint64_t key, uint32_t shards) {
  int64_t shard = -1, next = 0;
  while (next < (int64_t)shards) {
    shard = next;
    key = key * 2862933555777941757u + 1;
    next = (int64_t)((double)(shard + 1) * (2147483648.0 / (double)((key >> 33) + 1)));
  }
  return (uint32_t)shard;
}
