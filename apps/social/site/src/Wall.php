<?php

declare(strict_types=1);

namespace Social;

/** Posts, by whom they were written and on whose wall. Key of the cache: `last:ID`, the newest post of an author. */
final class Wall
{
    /** Characters of a post. */
    public const MOST = 2000;
    /** Seconds that the number of an author's newest post stays in the cache, and can be too low if the cache failed. */
    public const KEEP = 600;
    /** The columns of a post. */
    public const COLUMNS = 'id, author, wall, body, at';

    public function __construct(
        private readonly Db $db,
        private readonly Cache $cache,
        private readonly Friends $friends,
    ) {
    }

    /**
     * Writes on a wall, one's own or a friend's; returns the number of the post.
     *
     * Errors: the wall belongs to a user who is not a friend.
     */
    public function post(int $author, int $wall, string $body): int
    {
        if ($author !== $wall && !$this->friends->are($author, $wall)) {
            throw Problem::forbidden('Only friends write on this wall.');
        }
        $id = $this->db->transaction(function () use ($author, $wall, $body): int {
            // Readers of the feed wait here for writers, so that a post never appears behind a later one.
            $this->db->value('SELECT id FROM users WHERE id = ? FOR UPDATE', [$author]);
            return $this->db->run('INSERT INTO posts (author, wall, body) VALUES (?, ?, ?)', [$author, $wall, $body]);
        });
        $this->cache->raise("last:$author", $id, self::KEEP);
        return $id;
    }

    /**
     * The newest posts on a wall.
     *
     * @return list<Post>
     */
    public function of(int $user, int $most): array
    {
        $sql = 'SELECT ' . self::COLUMNS . " FROM posts WHERE wall = ? ORDER BY id DESC LIMIT $most";
        return array_map(Post::fromRow(...), $this->db->rows($sql, [$user]));
    }
}
