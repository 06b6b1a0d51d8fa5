package chassis

import "hash/fnv"

// shardOf is the place of a key among n shards: the jump hash of its FNV-1a 64.
func shardOf(key string, n int) int {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	return jump(hash.Sum64(), n)
}

// jump is Lamping and Veach's jump consistent hash (arXiv:1406.2294): of n shards 1/n of the keys move to one more.
func jump(key uint64, n int) int {
	at, next := int64(-1), int64(0)
	for next < int64(n) {
		at = next
		key = key*2862933555777941757 + 1
		next = int64(float64(at+1) * (float64(int64(1)<<31) / float64(key>>33+1)))
	}
	return int(at)
}
