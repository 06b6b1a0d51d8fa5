<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Thrift\Exception\TTransportException;
use Thrift\Transport\TTransport;

/**
 * A message in memory. Thrift's `TMemoryBuffer` copies all that is left at each read, which for a page of 400 KB with some
 * hundred fields is more than the rest of the work; this one moves a place.
 */
final class Buffer extends TTransport
{
    public function __construct(private string $bytes = '', private int $at = 0)
    {
    }

    public function isOpen()
    {
        return true;
    }

    public function open()
    {
    }

    public function close()
    {
    }

    public function read($len)
    {
        return $this->readAll(min($len, strlen($this->bytes) - $this->at));
    }

    /** Errors: the message ends before. */
    public function readAll($len)
    {
        if ($len < 0 || $len > strlen($this->bytes) - $this->at) {
            throw new TTransportException("the message ends before $len more bytes", TTransportException::END_OF_FILE);
        }
        $read = substr($this->bytes, $this->at, $len);
        $this->at += $len;
        return $read;
    }

    public function write($buf)
    {
        $this->bytes .= $buf;
    }

    /** How many bytes have not been read. */
    public function left(): int
    {
        return strlen($this->bytes) - $this->at;
    }

    /** Starts over with this message, which begins at `$at` in `$bytes`. */
    public function set(string $bytes, int $at): void
    {
        $this->bytes = $bytes;
        $this->at = $at;
    }

    /** Takes the written bytes out of the buffer. */
    public function take(): string
    {
        $taken = $this->bytes;
        $this->bytes = '';
        $this->at = 0;
        return $taken;
    }
}
