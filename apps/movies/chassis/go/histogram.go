package chassis

import (
	"math/bits"
	"strconv"
	"sync/atomic"
)

const (
	// 18 minutes in ns; longer durations count as that.
	histogramMost = 1 << 40
	// 8 for each power of two, 12.5 % wide each, and one for each of the numbers below 8.
	histogramBuckets = 8*(40-2) + 1
)

// histogram says how often which duration was, since the start.
type histogram [histogramBuckets]atomic.Int64

func bucketOf(ns int64) int {
	if ns < 8 {
		return int(max(ns, 0))
	}
	ns = min(ns, histogramMost)
	e := bits.Len64(uint64(ns)) - 1
	return 8*(e-2) + int(ns>>(e-3)&7)
}

func (h *histogram) add(ns int64) { h[bucketOf(ns)].Add(1) }

// appendTo adds the buckets that are not empty, by name.
func (h *histogram) appendTo(all map[string]int64, name string) {
	for bucket := range h {
		if count := h[bucket].Load(); count > 0 {
			all[name+"."+strconv.Itoa(bucket)] = count
		}
	}
}
