<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Thrift\Exception\TProtocolException;
use Thrift\Protocol\TBinaryProtocol;
use Thrift\Type\TType;

/** Thrift's strict binary protocol, with a limit of nesting and a sequence id that the caller chooses. */
final class Protocol extends TBinaryProtocol
{
    /** The interface nests 4 deep. Without a bound, a frame of 16 MiB nests 5 million deep, which takes all memory. */
    private const DEPTH = 64;

    /** Sequence id of written messages, instead of Thrift's 0; null: the writer's. */
    public ?int $sequence = null;
    private int $depth = 0;

    public function __construct(private readonly Buffer $buffer)
    {
        parent::__construct($buffer, true, true);
    }

    public function readListBegin(&$elemType, &$size)
    {
        parent::readListBegin($elemType, $size);
        return $this->counted($size);
    }

    public function readSetBegin(&$elemType, &$size)
    {
        parent::readSetBegin($elemType, $size);
        return $this->counted($size);
    }

    public function readMapBegin(&$keyType, &$valType, &$size)
    {
        parent::readMapBegin($keyType, $valType, $size);
        return $this->counted($size);
    }

    public function writeMessageBegin($name, $type, $seqid)
    {
        return parent::writeMessageBegin($name, $type, $this->sequence ?? $seqid);
    }

    public function skip($type)
    {
        if ($type !== TType::STRUCT && $type !== TType::MAP && $type !== TType::SET && $type !== TType::LST) {
            return parent::skip($type);
        }
        if ($this->depth === self::DEPTH) {
            throw new TProtocolException('a message nests deeper than ' . self::DEPTH, TProtocolException::DEPTH_LIMIT);
        }
        $this->depth++;
        try {
            return parent::skip($type);
        } finally {
            $this->depth--;
        }
    }

    /** Errors: more than the bytes left, as each element takes at least one. */
    private function counted(int $size): int
    {
        if ($size < 0 || $size > $this->buffer->left()) {
            throw new TProtocolException("a list of $size in the last {$this->buffer->left()} bytes", TProtocolException::SIZE_LIMIT);
        }
        return 0;
    }
}
