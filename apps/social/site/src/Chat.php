<?php

declare(strict_types=1);

namespace Social;

/** Messages between two friends. Key of the cache: `inbox:ID`, the newest message that a user was sent. */
final class Chat
{
    /** Characters of a message. */
    public const MOST = 2000;
    /** Messages of a page. */
    private const PAGE = 30;
    /** Conversations of a page. */
    private const CHATS = 20;
    /** Messages of one answer to a poll; the next poll brings the rest. */
    private const POLL = 50;
    /** Seconds that the number of a user's newest message stays in the cache, and can be too low if the cache failed. */
    private const KEEP = 600;

    public function __construct(
        private readonly Db $db,
        private readonly Cache $cache,
        private readonly Friends $friends,
    ) {
    }

    /**
     * Sends a message to a friend; returns its number.
     *
     * Errors: the other is not a friend.
     */
    public function send(int $from, int $to, string $body): int
    {
        $this->check($from, $to);
        $id = $this->db->transaction(function () use ($from, $to, $body): int {
            // Writers to one user take turns, so that messages appear in the order of their numbers: a client that asks
            // for all since the last one misses none.
            $this->db->value('SELECT id FROM users WHERE id = ? FOR UPDATE', [$to]);
            $chat = $this->between($from, $to);
            if ($chat === null) {
                $this->db->run('INSERT IGNORE INTO chats (a, b) VALUES (?, ?)', [min($from, $to), max($from, $to)]);
                $chat = $this->between($from, $to);
            }
            return $this->db->run('INSERT INTO messages (chat, author, body) VALUES (?, ?, ?)', [$chat, $from, $body]);
        });
        $this->cache->raise("inbox:$to", $id, self::KEEP);
        return $id;
    }

    /**
     * The newest messages between two friends, oldest first.
     *
     * Errors: the other is not a friend.
     *
     * @return list<Post>
     */
    public function with(int $user, int $other): array
    {
        $this->check($user, $other);
        $chat = $this->between($user, $other);
        if ($chat === null) {
            return [];
        }
        $sql = 'SELECT id, author, ? + ? - author AS wall, body, at FROM messages WHERE chat = ? ORDER BY id DESC LIMIT ' . self::PAGE;
        return array_reverse(array_map(Post::fromRow(...), $this->db->rows($sql, [$user, $other, $chat])));
    }

    /**
     * The last message of each conversation of a user, newest first.
     *
     * @return list<Post>
     */
    public function latest(int $user): array
    {
        $sql = 'SELECT id, b AS other FROM chats WHERE a = ? UNION ALL SELECT id, a FROM chats WHERE b = ?';
        // The number of the other user in each conversation.
        $chats = array_column($this->db->rows($sql, [$user, $user]), 'other', 'id');
        if ($chats === []) {
            return [];
        }
        $marks = Db::marks(count($chats));
        $sql = "SELECT MAX(id) FROM messages WHERE chat IN ($marks) GROUP BY chat ORDER BY 1 DESC LIMIT " . self::CHATS;
        $newest = array_map(intval(...), $this->db->column($sql, array_keys($chats)));
        if ($newest === []) {
            return [];
        }
        $marks = Db::marks(count($newest));
        $rows = $this->db->rows("SELECT id, chat, author, body, at FROM messages WHERE id IN ($marks) ORDER BY id DESC", $newest);
        return array_map(static fn (array $row): Post =>
            Post::fromRow($row + ['wall' => $row['author'] === $user ? $chats[$row['chat']] : $user]), $rows);
    }

    /**
     * A user's messages received after the message `since`, oldest first.
     *
     * @return list<Post>
     */
    public function since(int $user, int $since): array
    {
        if ($this->cache->isThere() && $this->newest($user) <= $since) {
            return [];
        }
        // One statement: a conversation that begins between two would be left out, and its message never told of again.
        $sql = 'SELECT m.id, m.author, ? AS wall, m.body, m.at FROM messages m JOIN (SELECT id FROM chats WHERE a = ?'
            . ' UNION ALL SELECT id FROM chats WHERE b = ?) c ON m.chat = c.id WHERE m.id > ? AND m.author <> ?'
            . ' ORDER BY m.id LIMIT ' . self::POLL;
        return array_map(Post::fromRow(...), $this->db->rows($sql, [$user, $user, $user, $since, $user]));
    }

    /** The number of the newest message that a user was sent; 0 without any. */
    public function newest(int $user): int
    {
        $known = $this->cache->get("inbox:$user");
        if ($known !== null) {
            return (int) $known;
        }
        // Each conversation is read from its end to the last message of the other; in one statement, as in `since`.
        $sql = 'SELECT MAX((SELECT id FROM messages WHERE chat = chats.id AND author <> ? ORDER BY id DESC LIMIT 1))'
            . ' FROM chats WHERE a = ? OR b = ?';
        $newest = (int) $this->db->value($sql, [$user, $user, $user]);
        $this->cache->add("inbox:$user", (string) $newest, self::KEEP);
        return $newest;
    }

    private function check(int $user, int $other): void
    {
        if (!$this->friends->are($user, $other)) {
            throw Problem::forbidden('Only friends write to each other.');
        }
    }

    private function between(int $one, int $other): ?int
    {
        return $this->db->value('SELECT id FROM chats WHERE a = ? AND b = ?', [min($one, $other), max($one, $other)]);
    }
}
