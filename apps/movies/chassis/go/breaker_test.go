package chassis

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	b := &breaker{}
	admits := func(want, wantTry bool) {
		t.Helper()
		if got, isTry := b.admits(now); got != want || isTry != wantTry {
			t.Errorf("admitted: %v, a try: %v", got, isTry)
		}
	}
	for range breakerTimeOuts - 1 {
		b.ended(true, false, now)
	}
	b.ended(false, false, now)
	for range breakerTimeOuts {
		admits(true, false)
		b.ended(true, false, now)
	}
	admits(false, false)
	// One that began before.
	b.ended(true, false, now.Add(time.Hour))
	now = now.Add(breakerFirst)
	admits(true, true)
	admits(false, false)
	b.ended(true, true, now)
	now = now.Add(breakerFirst)
	admits(false, false)
	now = now.Add(breakerFirst)
	admits(true, true)
	b.ended(false, true, now)
	admits(true, false)
	all := map[string]int64{}
	b.appendTo(all, "breaker.ads")
	if all["breaker.ads.open"] != 0 || all["breaker.ads.opened"] != 1 || all["breaker.ads.refused"] != 3 {
		t.Error(all)
	}
	for range breakerTimeOuts {
		b.ended(true, false, now)
	}
	for range 20 {
		now = now.Add(breakerLongest)
		admits(true, true)
		b.ended(true, true, now)
	}
	if b.wait != breakerLongest {
		t.Error(b.wait)
	}
	var none *breaker
	if admitted, _ := none.admits(now); !admitted {
		t.Error("a service that is needed is asked")
	}
}
