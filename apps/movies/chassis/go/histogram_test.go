package chassis

import (
	"maps"
	"strconv"
	"testing"
)

func TestBuckets(t *testing.T) {
	vectors := readVectors(t)
	for _, one := range vectors.Buckets {
		ns, err := strconv.ParseInt(one.NS, 10, 64)
		if got := bucketOf(ns); err != nil || got != one.Bucket {
			t.Errorf("%s ns: bucket %d, want %d", one.NS, got, one.Bucket)
		}
	}
	if len(vectors.Buckets) == 0 || bucketOf(1<<62) != histogramBuckets-1 {
		t.Error("no vectors, or the last bucket is not the last")
	}
}

func TestTimes(t *testing.T) {
	vectors := readVectors(t)
	for _, one := range vectors.Times.Good {
		times, is := parseTimes(one.Text)
		for at, want := range one.Times {
			if !is || strconv.FormatInt(times[at], 10) != want {
				t.Errorf("%s: %v, %v", one.Text, times, is)
			}
		}
	}
	for _, text := range vectors.Times.Bad {
		if times, is := parseTimes(text); is {
			t.Errorf("%q: %v", text, times)
		}
	}
	if len(vectors.Times.Good) == 0 || len(vectors.Times.Bad) == 0 {
		t.Error("no vectors")
	}
}

func TestHistogramSaysWhatIsNotEmpty(t *testing.T) {
	var h histogram
	for _, ns := range []int64{3, 1000, 1001, 3} {
		h.add(ns)
	}
	all := map[string]int64{}
	h.appendTo(all, "edge")
	if want := map[string]int64{"edge.3": 2, "edge.63": 2}; !maps.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}
