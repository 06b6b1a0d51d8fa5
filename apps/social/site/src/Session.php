<?php

declare(strict_types=1);

namespace Social;

/**
 * The sender of a request, by its cookie `sid`: 128 random bits that this site chose. An id from elsewhere is never
 * accepted, and each login gets a new one. Sessions are stored under the id's SHA-256, so that a leak of the cache or the
 * database does not open any. They are written at login and logout only, and read without a lock.
 */
final class Session
{
    public const COOKIE = 'sid';
    /** Seconds that a login lasts. */
    private const LOGIN = 12 * 3600;
    /** Seconds for which a visitor may look at a form before it is sent. */
    private const VISIT = 3600;
    /** One in this number of new sessions deletes expired ones, if the database holds sessions. */
    private const CLEAR = 200;

    private ?string $sid = null;
    private int $user = 0;
    private ?string $cookie = null;

    public function __construct(
        private readonly Request $request,
        private readonly Cache $cache,
        private readonly Db $db,
    ) {
        $given = $request->cookie(self::COOKIE);
        if (self::isId($given)) {
            $user = $this->read($given);
            if ($user !== null) {
                $this->sid = $given;
                $this->user = $user;
            }
        }
    }

    public static function isId(string $given): bool
    {
        return preg_match('/^[0-9a-f]{32}$/D', $given) === 1;
    }

    public static function newId(): string
    {
        return bin2hex(random_bytes(16));
    }

    /** The number of the user who is logged in; 0: a visitor who is not. */
    public function user(): int
    {
        return $this->user;
    }

    /** Its id; null if the request has no session. */
    public function id(): ?string
    {
        return $this->sid;
    }

    /** The id of the visitor's session, begun if there is none: a form needs a token. */
    public function visit(): string
    {
        if ($this->sid === null) {
            $this->begin(0, self::VISIT);
        }
        return $this->sid;
    }

    public function login(int $user): void
    {
        $before = $this->sid;
        $this->begin($user, self::LOGIN);
        if ($before !== null) {
            $this->forget($before);
        }
    }

    public function logout(): void
    {
        if ($this->sid !== null) {
            $this->forget($this->sid);
        }
        $this->sid = null;
        $this->user = 0;
        $this->cookie = '';
    }

    /** Sends the browser its session id, if changed. */
    public function answer(Reply $reply): Reply
    {
        if ($this->cookie === null) {
            return $reply;
        }
        $gone = $this->cookie === '' ? '; Max-Age=0' : '';
        $secure = $this->request->isEncrypted() ? '; Secure' : '';
        $value = self::COOKIE . "={$this->cookie}; Path=/; HttpOnly; SameSite=Lax$secure$gone";
        return $reply->header('Set-Cookie', $value);
    }

    private function begin(int $user, int $seconds): void
    {
        $sid = self::newId();
        if ($this->cache->isThere()) {
            if (!$this->cache->set(self::key($sid), (string) $user, $seconds)) {
                throw Problem::unavailable(new \RuntimeException('the cache does not keep a session'));
            }
        } else {
            $now = time();
            $this->db->run(
                'INSERT INTO sessions (id, user, expires) VALUES (?, ?, ?)',
                [self::hash($sid), $user, ($now + $seconds) * 1000],
            );
            if (random_int(1, self::CLEAR) === 1) {
                $this->db->run('DELETE FROM sessions WHERE expires < ? LIMIT 1000', [$now * 1000]);
            }
        }
        $this->sid = $this->cookie = $sid;
        $this->user = $user;
    }

    /** The user of a session; null if there is no such session. */
    private function read(string $sid): ?int
    {
        if ($this->cache->isThere()) {
            $user = $this->cache->get(self::key($sid));
            if ($this->cache->hasFailed()) {
                // It is unknown whether the user is logged in, so the answer must not be a request to log in.
                throw Problem::unavailable(new \RuntimeException('the cache does not answer for a session'));
            }
        } else {
            $values = [self::hash($sid), time() * 1000];
            $user = $this->db->value('SELECT user FROM sessions WHERE id = ? AND expires >= ?', $values);
        }
        return $user === null ? null : (int) $user;
    }

    private function forget(string $sid): void
    {
        if ($this->cache->isThere()) {
            $this->cache->delete(self::key($sid));
            if ($this->cache->hasFailed()) {
                // Report a log-out only if the session is really gone.
                throw Problem::unavailable(new \RuntimeException('the cache does not forget a session'));
            }
        } else {
            $this->db->run('DELETE FROM sessions WHERE id = ?', [self::hash($sid)]);
        }
    }

    private static function key(string $sid): string
    {
        return 's:' . bin2hex(self::hash($sid));
    }

    private static function hash(string $sid): string
    {
        return hash('sha256', $sid, true);
    }
}
