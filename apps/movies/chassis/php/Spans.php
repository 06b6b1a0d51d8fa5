<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * Records of 128 bytes of sampled requests, kept until `flush` appends them to the file whole. The workers of a service
 * share the file; a lock ensures that the file's first record comes first.
 */
final class Spans
{
    public const SERVER = 0;
    public const CLIENT = 1;
    public const STORE = 2;
    public const RETRIED = 1;
    private const FILE_MAGIC = 0x31485053;
    private const SPAN_MAGIC = 0x314e5053;

    /** How long the first one waits at most. Units: ns. */
    private const WAIT_NS = 100_000_000;
    /** How many bytes wait at most. */
    private const MOST = 256 * 128;

    private string $waiting = '';
    private int $since = 0;

    public function __construct(private readonly Config $config, private readonly Counts $counts)
    {
    }

    /**
     * @param int $peer the number of who is called; 0 for a server's span
     * @param array{int, int, int, int, int, int} $stamps a to f
     */
    public function add(
        Context $context,
        int $kind,
        int $peer,
        int $method,
        Outcome $outcome,
        string $span,
        string $parent,
        array $stamps,
        int $cpu = 0,
        int $in = 0,
        int $out = 0,
        int $flags = 0,
    ): void {
        if ($this->config->spans === '') {
            return;
        }
        if ($this->waiting === '') {
            $this->since = hrtime(true);
        }
        $this->waiting .= pack('VvvvvCCv', self::SPAN_MAGIC, $this->config->id, $this->config->instance, $peer, $method,
            $kind, $outcome->value, $flags)
            . hex2bin($context->trace) . strrev(hex2bin($span)) . strrev(hex2bin($parent))
            . pack('P6PVVx16', ...[...$stamps, $cpu, $in, $out]);
        $this->counts->add(['spans' => 1]);
    }

    public function areWaiting(): bool
    {
        return $this->waiting !== '';
    }

    /** Whether it is time to write them. */
    public function areDue(): bool
    {
        return strlen($this->waiting) >= self::MOST || ($this->areWaiting() && hrtime(true) - $this->since >= self::WAIT_NS);
    }

    /** Creates the file if missing, and appends the collected spans. */
    public function flush(): void
    {
        if ($this->config->spans === '') {
            return;
        }
        $file = @fopen($this->config->spans, 'ab');
        if ($file === false) {
            Log::error("{$this->config->spans}: spans cannot be written there");
            return;
        }
        flock($file, LOCK_EX);
        $bytes = (fstat($file)['size'] === 0 ? $this->first() : '') . $this->waiting;
        if ($bytes !== '' && fwrite($file, $bytes) !== strlen($bytes)) {
            Log::error("{$this->config->spans}: not all spans could be written");
        }
        fclose($file);
        $this->waiting = '';
    }

    /** Which machine, since when it runs, and which process. */
    private function first(): string
    {
        $boot = trim((string) file_get_contents('/proc/sys/kernel/random/boot_id'));
        $offset = (int) (microtime(true) * 1e6) * 1000 - hrtime(true);
        return pack('Vvvvx6a36x4PPx56', self::FILE_MAGIC, 1, $this->config->id, $this->config->instance, $boot, $offset,
            getmypid());
    }
}
