package chassis

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Trace is the content of a request header `traceparent`.
type Trace struct {
	ID      [16]byte
	Span    uint64
	Sampled bool
}

// parseTrace takes W3C's version 00 only, in lower case. Source: Trace Context, 3.2.2.
func parseTrace(text string) (t Trace, ok bool) {
	if len(text) != 55 || text[:3] != "00-" || text[35] != '-' || text[52] != '-' {
		return Trace{}, false
	}
	for _, c := range []byte(text) {
		if c >= 'A' && c <= 'F' {
			return Trace{}, false
		}
	}
	var span [8]byte
	var flags [1]byte
	if _, err := hex.Decode(t.ID[:], []byte(text[3:35])); err != nil {
		return Trace{}, false
	}
	if _, err := hex.Decode(span[:], []byte(text[36:52])); err != nil {
		return Trace{}, false
	}
	if _, err := hex.Decode(flags[:], []byte(text[53:])); err != nil {
		return Trace{}, false
	}
	for _, b := range span {
		t.Span = t.Span<<8 | uint64(b)
	}
	t.Sampled = flags[0]&1 == 1
	return t, t.Span != 0 && t.ID != [16]byte{}
}

func (t Trace) String() string {
	flags := "00"
	if t.Sampled {
		flags = "01"
	}
	return fmt.Sprintf("00-%x-%016x-%s", t.ID, t.Span, flags)
}

func newSpanID() uint64 {
	for {
		if id := rand.Uint64(); id != 0 {
			return id
		}
	}
}
