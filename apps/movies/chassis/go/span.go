package chassis

import (
	"encoding/binary"
)

// Source of the layout: the contract of the application.
const (
	recordSize = 128
	headMagic  = 0x31485053
	spanMagic  = 0x314e5053
	version    = 1
)

type kind uint8

const (
	serverSpan kind = iota
	clientSpan
	storeSpan
)

const wasRetried = 1

// span is one record of a span file. Units of the stamps: ns of CLOCK_MONOTONIC.
type span struct {
	service, instance, peer, method uint16
	kind                            kind
	outcome                         outcome
	flags                           uint16
	trace                           [16]byte
	span, parent                    uint64
	stamps                          [6]int64
	cpuNS                           int64
	bytesIn, bytesOut               uint32
}

// fill gives a stamp that was not reached the one before it.
func (s *span) fill() {
	for at := 1; at < len(s.stamps); at++ {
		s.stamps[at] = max(s.stamps[at], s.stamps[at-1])
	}
}

func (s *span) appendTo(out []byte) []byte {
	le := binary.LittleEndian
	from := len(out)
	out = le.AppendUint32(out, spanMagic)
	for _, n := range []uint16{s.service, s.instance, s.peer, s.method} {
		out = le.AppendUint16(out, n)
	}
	out = append(out, byte(s.kind), byte(s.outcome))
	out = le.AppendUint16(out, s.flags)
	out = append(out, s.trace[:]...)
	out = le.AppendUint64(out, s.span)
	out = le.AppendUint64(out, s.parent)
	for _, stamp := range s.stamps {
		out = le.AppendUint64(out, uint64(stamp))
	}
	out = le.AppendUint64(out, uint64(s.cpuNS))
	out = le.AppendUint32(out, s.bytesIn)
	out = le.AppendUint32(out, s.bytesOut)
	return append(out, make([]byte, recordSize-(len(out)-from))...)
}

// spanHead is the first record of a process in its file.
func spanHead(service, instance uint16, bootID string, wallOffset int64, pid int) []byte {
	head := make([]byte, recordSize)
	le := binary.LittleEndian
	le.PutUint32(head, headMagic)
	le.PutUint16(head[4:], version)
	le.PutUint16(head[6:], service)
	le.PutUint16(head[8:], instance)
	copy(head[16:52], bootID)
	le.PutUint64(head[56:], uint64(wallOffset))
	le.PutUint64(head[64:], uint64(pid))
	return head
}
