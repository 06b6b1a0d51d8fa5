package chassis

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
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
	bytes, err := hex.DecodeString(text[3:35] + text[36:52] + text[53:])
	if err != nil || strings.ContainsAny(text, "ABCDEF") {
		return Trace{}, false
	}
	copy(t.ID[:], bytes)
	t.Span = binary.BigEndian.Uint64(bytes[16:])
	t.Sampled = bytes[24]&1 == 1
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
