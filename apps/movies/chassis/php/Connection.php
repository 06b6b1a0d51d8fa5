<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** A socket that never waits, on which whole frames come and go. */
final class Connection
{
    /** Of one process to one instance. */
    private const MOST = 8;
    /** Size of a read before the frame's size is known. Units: bytes. */
    private const CHUNK = 65536;

    /** @var array<string, true> the persistent ones that are in use */
    private static array $taken = [];

    private string $in = '';
    private string $out = '';

    /** @param resource $stream */
    private function __construct(public readonly mixed $stream, private readonly string $name = '')
    {
        if (stream_get_meta_data($stream)['blocked']) {
            stream_set_blocking($stream, false);
            stream_set_read_buffer($stream, 0);
        }
    }

    /**
     * A connection that outlives this process's request: reuses a live one or makes one.
     *
     * Errors: `Closed` if it could not connect in time.
     */
    public static function persistent(string $address, int $ns): self
    {
        for ($number = 0; isset(self::$taken["$address/$number"]); $number++) {
            if ($number === self::MOST - 1) {
                throw new Closed("$address has " . self::MOST . ' connections from here, and all are in use');
            }
        }
        // PHP keys persistent sockets by the whole address, and connects to the part before the slash.
        $name = "$address/$number";
        $stream = @stream_socket_client("tcp://$name", $code, $why, $ns / 1e9, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT,
            stream_context_create(['socket' => ['tcp_nodelay' => true]]));
        if ($stream === false) {
            throw new Closed("$address: $why", $code);
        }
        self::$taken[$name] = true;
        return new self($stream, $name);
    }

    /** @param resource $stream */
    public static function accepted(mixed $stream): self
    {
        return new self($stream);
    }

    /**
     * Sends as much as possible now; `flush` sends the rest.
     *
     * Errors: `Closed`.
     */
    public function send(string $bytes): void
    {
        $this->out .= $bytes;
        $this->flush();
    }

    public function flush(): void
    {
        while ($this->out !== '') {
            $sent = @fwrite($this->stream, $this->out);
            if ($sent === false) {
                throw new Closed('the connection broke while it was written to');
            }
            if ($sent === 0) {
                return;
            }
            $this->out = substr($this->out, $sent);
        }
    }

    public function isFlushed(): bool
    {
        return $this->out === '';
    }

    /**
     * The next frame without its length; null if incomplete.
     *
     * Errors: `Closed`; `BadFrame` if it exceeds the frame limit.
     */
    public function receive(): ?string
    {
        while (true) {
            $size = $this->size();
            $missing = $size === null ? 0 : $size + 4 - strlen($this->in);
            if ($size !== null && $missing <= 0) {
                $frame = substr($this->in, 4, $size);
                $this->in = substr($this->in, 4 + $size);
                return $frame;
            }
            $bytes = @fread($this->stream, max(self::CHUNK, $missing));
            if ($bytes === false || $bytes === '') {
                // `feof` would wait for the next bytes.
                if (stream_get_meta_data($this->stream)['eof']) {
                    throw new Closed('the connection was closed');
                }
                return null;
            }
            $this->in .= $bytes;
        }
    }

    /** Leaves a persistent one to the next call. */
    public function release(): void
    {
        unset(self::$taken[$this->name]);
    }

    public function close(): void
    {
        $this->release();
        fclose($this->stream);
    }

    private function size(): ?int
    {
        if (strlen($this->in) < 4) {
            return null;
        }
        $size = unpack('N', $this->in)[1];
        if ($size > Frame::LIMIT) {
            throw new BadFrame("a frame of $size bytes; the limit is " . Frame::LIMIT);
        }
        return $size;
    }
}
