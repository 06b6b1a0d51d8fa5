/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Histograms of times; the including file defines their number, HISTOGRAMS. */
#ifndef TAILLIGHT_TIMES_H
#define TAILLIGHT_TIMES_H

/* Eighths of octaves up to 2^40 ns, 18 min; `src/histogram.rs` reads them. */
#define BUCKETS 312

struct histogram {
	__u64 count;
	__u64 sum;
	__u64 buckets[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HISTOGRAMS);
	__type(key, __u32);
	__type(value, struct histogram);
} histograms SEC(".maps");

/* Adds one span of time. A separate function, so that it is verified once. */
__noinline int enter(__u32 stage, __u64 ns)
{
	struct histogram *histogram = bpf_map_lookup_elem(&histograms, &stage);
	__u64 top = ns;
	__u32 octave = 0;
	__u32 bucket;

	if (!histogram)
		return 0;
	if (top >> 32) { octave += 32; top >>= 32; }
	if (top >> 16) { octave += 16; top >>= 16; }
	if (top >> 8) { octave += 8; top >>= 8; }
	if (top >> 4) { octave += 4; top >>= 4; }
	if (top >> 2) { octave += 2; top >>= 2; }
	if (top >> 1) { octave += 1; }
	if (octave < 3)
		bucket = (__u32)ns & 7;
	else
		bucket = (octave - 2) * 8 + ((__u32)(ns >> ((octave - 3) & 63)) & 7);
	if (bucket >= BUCKETS)
		bucket = BUCKETS - 1;
	histogram->count += 1;
	histogram->sum += ns;
	histogram->buckets[bucket] += 1;
	return 0;
}

#endif
