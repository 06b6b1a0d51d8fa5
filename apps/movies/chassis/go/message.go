package chassis

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/apache/thrift/lib/go/thrift"
)

// strictVersion marks a strict message of the binary protocol. Source: Thrift binary protocol encoding.
const strictVersion = 0x8001

var protocolLimits = &thrift.TConfiguration{
	MaxMessageSize:     frameLimit,
	TBinaryStrictRead:  thrift.BoolPtr(true),
	TBinaryStrictWrite: thrift.BoolPtr(true),
}

// head is the beginning of a message.
type head struct {
	kind     thrift.TMessageType
	name     string
	sequence int32
	// What follows.
	body []byte
}

func parseHead(message []byte) (head, error) {
	if len(message) < 8 || binary.BigEndian.Uint16(message) != strictVersion || message[2] != 0 {
		return head{}, errBadFrame
	}
	size := uint64(binary.BigEndian.Uint32(message[4:]))
	if size+4 > uint64(len(message)-8) {
		return head{}, errBadFrame
	}
	rest := message[8+size:]
	return head{
		kind:     thrift.TMessageType(message[3]),
		name:     string(message[8 : 8+size]),
		sequence: int32(binary.BigEndian.Uint32(rest)),
		body:     rest[4:],
	}, nil
}

// protocol is Thrift's binary protocol on bytes in memory, with the moments of a server's span.
type protocol struct {
	*thrift.TBinaryProtocol
	bytes *thrift.TMemoryBuffer
	// When the arguments were decoded, and when their answer was begun.
	decoded, answered int64
}

// newProtocol reads the given bytes; given none, it collects the written ones.
func newProtocol(message []byte) *protocol {
	buffer := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(message)}
	return &protocol{TBinaryProtocol: thrift.NewTBinaryProtocolConf(buffer, protocolLimits), bytes: buffer}
}

func (p *protocol) ReadMessageEnd(ctx context.Context) error {
	p.decoded = Now()
	return p.TBinaryProtocol.ReadMessageEnd(ctx)
}

func (p *protocol) WriteMessageBegin(ctx context.Context, name string, kind thrift.TMessageType, sequence int32) error {
	p.answered = Now()
	return p.TBinaryProtocol.WriteMessageBegin(ctx, name, kind, sequence)
}

func (p *protocol) ReadListBegin(ctx context.Context) (thrift.TType, int, error) {
	element, size, err := p.TBinaryProtocol.ReadListBegin(ctx)
	return element, size, p.checked(err, size, element)
}

func (p *protocol) ReadSetBegin(ctx context.Context) (thrift.TType, int, error) {
	element, size, err := p.TBinaryProtocol.ReadSetBegin(ctx)
	return element, size, p.checked(err, size, element)
}

func (p *protocol) ReadMapBegin(ctx context.Context) (thrift.TType, thrift.TType, int, error) {
	key, value, size, err := p.TBinaryProtocol.ReadMapBegin(ctx)
	return key, value, size, p.checked(err, size, key, value)
}

// checked refuses more elements than bytes, and elements that take no bytes: a few bytes must not cause long loops.
func (p *protocol) checked(err error, size int, types ...thrift.TType) error {
	if err != nil {
		return err
	}
	for _, one := range types {
		if size > 0 && (one == thrift.STOP || one == thrift.VOID) {
			return thrift.NewTProtocolExceptionWithType(thrift.INVALID_DATA, errBadFrame)
		}
	}
	if uint64(size) > p.bytes.RemainingBytes() {
		return thrift.NewTProtocolExceptionWithType(thrift.SIZE_LIMIT, errBadFrame)
	}
	return nil
}

// Skip uses the checks above; the one that is embedded would not.
func (p *protocol) Skip(ctx context.Context, kind thrift.TType) error {
	return thrift.SkipDefaultDepth(ctx, p, kind)
}

// writeException replaces the message written so far by an exception.
func (p *protocol) writeException(name string, sequence int32, kind int32, what string) {
	p.bytes.Reset()
	ctx := context.Background()
	// Writing into memory cannot fail.
	_ = p.TBinaryProtocol.WriteMessageBegin(ctx, name, thrift.EXCEPTION, sequence)
	_ = thrift.NewTApplicationException(kind, what).Write(ctx, p)
	_ = p.WriteMessageEnd(ctx)
}
