<?php

declare(strict_types=1);

namespace Social;

/** Friendships, and requests for them. Key of the cache: `fr:ID`, the friends of a user in order. */
final class Friends
{
    /** Seconds that a list of friends stays in the cache: an old list lasts at most this long if the mark could not be set. */
    private const KEEP = 600;

    public function __construct(private readonly Db $db, private readonly Cache $cache)
    {
    }

    /**
     * The friends of a user, in order.
     *
     * @return list<int>
     */
    public function of(int $user): array
    {
        $known = $this->cache->get("fr:$user");
        if ($known !== null) {
            return $known === '' ? [] : array_map(intval(...), explode(',', $known));
        }
        $sql = "SELECT b FROM friendship WHERE a = ? AND state = 'friends' ORDER BY b";
        $friends = array_map(intval(...), $this->db->column($sql, [$user]));
        $this->cache->add("fr:$user", implode(',', $friends), self::KEEP);
        return $friends;
    }

    public function are(int $user, int $other): bool
    {
        return in_array($other, $this->of($user), true);
    }

    /** Relation of a user to another: `friends`, `requested`, `asked` (by the other), or null. */
    public function state(int $user, int $other): ?string
    {
        return $this->db->value('SELECT state FROM friendship WHERE a = ? AND b = ?', [$user, $other]);
    }

    /**
     * Relations of a user to others, as of `state`; those to whom there is none are left out.
     *
     * @param list<int> $others
     * @return array<int, string>
     */
    public function states(int $user, array $others): array
    {
        if ($others === []) {
            return [];
        }
        $sql = 'SELECT b, state FROM friendship WHERE a = ? AND b IN (' . Db::marks(count($others)) . ')';
        return array_column($this->db->rows($sql, [$user, ...$others]), 'state', 'b');
    }

    /**
     * Users who have requested a friendship, the newest first.
     *
     * @return list<int>
     */
    public function asking(int $user, int $most): array
    {
        $sql = "SELECT b FROM friendship WHERE a = ? AND state = 'asked' ORDER BY since DESC, b LIMIT $most";
        return array_map(intval(...), $this->db->column($sql, [$user]));
    }

    /**
     * Requests a friendship, or confirms the other's request; returns `requested` or `friends`. Repeating it changes
     * nothing.
     *
     * Errors: with oneself.
     */
    public function request(int $user, int $other): string
    {
        if ($user === $other) {
            throw Problem::invalid('You are your own friend already.');
        }
        $made = false;
        $state = $this->db->transaction(function () use ($user, $other, &$made): string {
            $made = false;
            $this->lock($user, $other);
            $state = $this->state($user, $other);
            if ($state === null) {
                $sql = "INSERT INTO friendship (a, b, state) VALUES (?, ?, 'requested'), (?, ?, 'asked')";
                $this->db->run($sql, [$user, $other, $other, $user]);
                return 'requested';
            }
            if ($state === 'asked') {
                $sql = "UPDATE friendship SET state = 'friends' WHERE (a = ? AND b = ?) OR (a = ? AND b = ?)";
                $this->db->run($sql, [$user, $other, $other, $user]);
                $made = true;
                return 'friends';
            }
            return $state;
        });
        if ($made) {
            $this->changed($user, $other);
        }
        return $state;
    }

    /**
     * Ends a friendship, takes a request back, or declines the other's. Repeating it changes nothing.
     *
     * Errors: with oneself.
     */
    public function end(int $user, int $other): void
    {
        if ($user === $other) {
            throw Problem::invalid('You remain your own friend.');
        }
        $this->db->transaction(function () use ($user, $other): void {
            $this->lock($user, $other);
            $sql = 'DELETE FROM friendship WHERE (a = ? AND b = ?) OR (a = ? AND b = ?)';
            $this->db->run($sql, [$user, $other, $other, $user]);
        });
        $this->changed($user, $other);
    }

    /** Locks both, and for all in the same order, so that two who ask each other do not wait for each other. */
    private function lock(int $user, int $other): void
    {
        $lock = 'SELECT id FROM users FORCE INDEX (PRIMARY) WHERE id IN (?, ?) ORDER BY id FOR UPDATE';
        if (count($this->db->rows($lock, [$user, $other])) !== 2) {
            throw Problem::notFound('This user');
        }
    }

    private function changed(int $user, int $other): void
    {
        $this->cache->changed("fr:$user");
        $this->cache->changed("fr:$other");
    }
}
