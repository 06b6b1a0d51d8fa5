package chassis

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// Source of these: the contract of the application.
const (
	frameLimit  = 16 << 20
	headerMagic = 0x0fff
	pairsBlock  = 1
	// Magic, flags, sequence and number of words.
	fixedSize = 10
)

// errBadFrame ends a connection.
var errBadFrame = errors.New("these bytes are not a frame")

// frame is a header frame, or a plain one, which has a message only.
type frame struct {
	hasHeader bool
	sequence  uint32
	// Values of the known pairs; empty if absent.
	traceparent, deadline, times string
	message                      []byte
}

// readFrame reads the length and the bytes that it counts.
//
// Cost: a large frame takes memory as its bytes arrive, not when its length does.
func readFrame(from io.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(from, prefix[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(prefix[:])
	if size == 0 || size > frameLimit {
		return nil, errBadFrame
	}
	const atOnce = 64 << 10
	if size <= atOnce {
		body := make([]byte, size)
		_, err := io.ReadFull(from, body)
		return body, err
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, from, int64(size)); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// parseFrame parses a frame without its length prefix.
func parseFrame(body []byte) (frame, error) {
	if isStrict(body) {
		return frame{message: body}, nil
	}
	if len(body) < fixedSize || binary.BigEndian.Uint16(body) != headerMagic || binary.BigEndian.Uint16(body[2:]) != 0 {
		return frame{}, errBadFrame
	}
	f := frame{hasHeader: true, sequence: binary.BigEndian.Uint32(body[4:])}
	end := fixedSize + 4*int(binary.BigEndian.Uint16(body[8:]))
	if end > len(body) {
		return frame{}, errBadFrame
	}
	f.message = body[end:]
	if !isStrict(f.message) || !f.parseHeader(reader{bytes: body[fixedSize:end]}) {
		return frame{}, errBadFrame
	}
	return f, nil
}

func (f *frame) parseHeader(r reader) bool {
	if protocol, transforms := r.varint(), r.varint(); protocol != 0 || transforms != 0 {
		return false
	}
	for !r.failed && len(r.bytes) > 0 {
		block := r.varint()
		if block == 0 {
			break // Padding.
		}
		if block != pairsBlock {
			return false
		}
		for pairs := r.varint(); pairs > 0 && !r.failed; pairs-- {
			key, value := r.take(r.varint()), r.take(r.varint())
			switch string(key) {
			case "traceparent":
				f.traceparent = string(value)
			case "d":
				f.deadline = string(value)
			case "s":
				f.times = string(value)
			}
		}
	}
	return !r.failed
}

// reader takes numbers from bytes; after the end each fails.
type reader struct {
	bytes  []byte
	failed bool
}

func (r *reader) varint() uint32 {
	// A number of 32 bits has at most 5 bytes.
	n, size := binary.Uvarint(r.bytes[:min(len(r.bytes), 5)])
	if size <= 0 || n > 1<<32-1 {
		r.failed, r.bytes = true, nil
		return 0
	}
	r.bytes = r.bytes[size:]
	return uint32(n)
}

func (r *reader) take(size uint32) []byte {
	if r.failed || uint64(size) > uint64(len(r.bytes)) {
		r.failed, r.bytes = true, nil
		return nil
	}
	taken := r.bytes[:size]
	r.bytes = r.bytes[size:]
	return taken
}

// isStrict says whether this may be a message of the strict binary protocol.
func isStrict(message []byte) bool { return len(message) > 0 && message[0] == 0x80 }

type pair struct{ key, value string }

// headerBefore is the header that precedes a message of this size in a header frame.
func headerBefore(sequence uint32, size int, pairs ...pair) []byte {
	header := make([]byte, 4+fixedSize, 160)
	header = append(header, 0, 0) // The binary protocol, no transforms.
	if len(pairs) > 0 {
		header = binary.AppendUvarint(append(header, pairsBlock), uint64(len(pairs)))
	}
	for _, p := range pairs {
		header = append(binary.AppendUvarint(header, uint64(len(p.key))), p.key...)
		header = append(binary.AppendUvarint(header, uint64(len(p.value))), p.value...)
	}
	for (len(header)-4-fixedSize)%4 != 0 {
		header = append(header, 0)
	}
	binary.BigEndian.PutUint32(header, uint32(len(header)-4+size))
	binary.BigEndian.PutUint16(header[4:], headerMagic)
	binary.BigEndian.PutUint32(header[8:], sequence)
	binary.BigEndian.PutUint16(header[12:], uint16((len(header)-4-fixedSize)/4))
	return header
}

// lengthBefore is the length that precedes a message of this size in a plain frame.
func lengthBefore(size int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(size)) }
