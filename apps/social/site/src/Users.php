<?php

declare(strict_types=1);

namespace Social;

/**
 * Users, and their logins. Keys of the cache: `u:ID`, a user; `n:NAME`, the number of a name, which never
 * changes.
 */
final class Users
{
    /** Seconds that a user stays in the cache: an old entry lasts at most this long if the mark could not be set. */
    private const KEEP = 600;
    /** Seconds that the number of a name does, which never changes. */
    private const KEEP_NAME = 3600;
    /** MariaDB's number for a value that must be there once only. */
    private const DUPLICATE = 1062;
    /** bcrypt looks at no more bytes of a password. */
    private const PASSWORD_MOST = 72;
    private const PASSWORD_LEAST = 8;
    private const DISPLAY_MOST = 64;

    public function __construct(
        private readonly Db $db,
        private readonly Cache $cache,
        private readonly int $cost,
        private readonly string $dummyHash,
    ) {
    }

    /** Whether a name can be one: so it needs no escape in a path, and is a key of the cache as it is. */
    public static function isName(string $name): bool
    {
        return preg_match('/^[a-z][a-z0-9_]{2,31}$/D', $name) === 1;
    }

    /**
     * Users by their numbers; missing ones are left out.
     *
     * @param list<int> $ids
     * @return array<int, User>
     */
    public function many(array $ids): array
    {
        $users = [];
        foreach ($this->cache->many(array_map(static fn (int $id): string => "u:$id", $ids)) as $packed) {
            $user = User::unpacked($packed);
            $users[$user->id] = $user;
        }
        $missing = array_values(array_diff(array_unique($ids), array_keys($users)));
        if ($missing !== []) {
            $marks = Db::marks(count($missing));
            foreach ($this->db->rows("SELECT id, name, display, avatar FROM users WHERE id IN ($marks)", $missing) as $row) {
                $user = User::fromRow($row);
                $users[$user->id] = $user;
                $this->cache->add("u:$user->id", $user->packed(), self::KEEP);
            }
        }
        return $users;
    }

    public function find(int $id): ?User
    {
        return $this->many([$id])[$id] ?? null;
    }

    /**
     * Errors: the name is unknown.
     */
    public function named(string $name): User
    {
        $user = self::isName($name) ? $this->find($this->idOf($name)) : null;
        return $user ?? throw Problem::notFound('A user of this name');
    }

    private function idOf(string $name): int
    {
        $known = $this->cache->get("n:$name");
        if ($known !== null) {
            return (int) $known;
        }
        $id = $this->db->value('SELECT id FROM users WHERE name = ?', [$name]);
        if ($id !== null) {
            $this->cache->add("n:$name", (string) $id, self::KEEP_NAME);
        }
        return (int) $id;
    }

    /**
     * Users whose names begin so.
     *
     * @return list<User>
     */
    public function beginning(string $start, int $most): array
    {
        if (preg_match('/^[a-z0-9_]{1,32}$/D', $start) !== 1) {
            return [];
        }
        $pattern = str_replace('_', '\\_', $start) . '%';
        $sql = "SELECT id, name, display, avatar FROM users WHERE name LIKE ? ORDER BY name LIMIT $most";
        return array_map(User::fromRow(...), $this->db->rows($sql, [$pattern]));
    }

    /**
     * The number of the user who knows this password; null otherwise. It takes as long for a name that no user has.
     */
    public function verified(string $name, string $password): ?int
    {
        $row = self::isName($name) ? $this->db->row('SELECT id, hash FROM users WHERE name = ?', [$name]) : null;
        $right = password_verify($password, $row['hash'] ?? $this->dummyHash);
        return $right && $row !== null ? (int) $row['id'] : null;
    }

    /**
     * Adds a user; returns its number.
     *
     * Errors: a name that cannot be one or is taken, a password that is too short or too long.
     */
    public function create(string $name, string $display, string $password): int
    {
        if (!self::isName($name)) {
            throw Problem::invalid('A user name has 3 to 32 of a-z, 0-9 and _, and begins with a letter.');
        }
        $length = strlen($password);
        if ($length < self::PASSWORD_LEAST || $length > self::PASSWORD_MOST || str_contains($password, "\0")) {
            throw Problem::invalid('A password has 8 to 72 characters.');
        }
        $hash = password_hash($password, PASSWORD_BCRYPT, ['cost' => $this->cost]);
        try {
            $sql = 'INSERT INTO users (name, display, hash) VALUES (?, ?, ?)';
            return $this->db->run($sql, [$name, self::display($display), $hash]);
        } catch (\PDOException $error) {
            if (Db::code($error) === self::DUPLICATE) {
                throw Problem::invalid("The user name $name is taken.");
            }
            throw $error;
        }
    }

    /** Changes the name that others see. */
    public function rename(int $id, string $display): void
    {
        $this->db->run('UPDATE users SET display = ? WHERE id = ?', [self::display($display), $id]);
        $this->cache->changed("u:$id");
    }

    /** Gives a user a picture, as `Avatar` made it. */
    public function setAvatar(int $id, string $image): void
    {
        $this->db->transaction(function () use ($id, $image): void {
            $this->db->run('UPDATE users SET avatar = avatar + 1 WHERE id = ?', [$id]);
            $this->db->run('REPLACE INTO avatars (user, image) VALUES (?, ?)', [$id, $image]);
        });
        $this->cache->changed("u:$id");
    }

    /** The picture of a user. */
    public function avatar(User $user): string
    {
        return $this->db->value('SELECT image FROM avatars WHERE user = ?', [$user->id])
            ?? throw Problem::notFound('A picture');
    }

    private static function display(string $given): string
    {
        $display = trim((string) preg_replace('/[\p{C}\s]+/u', ' ', $given));
        if ($display === '' || mb_strlen($display) > self::DISPLAY_MOST) {
            throw Problem::invalid('A name to show has 1 to ' . self::DISPLAY_MOST . ' characters.');
        }
        return $display;
    }
}
