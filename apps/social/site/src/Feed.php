<?php

declare(strict_types=1);

namespace Social;

/**
 * Posts of a user's friends, gathered on request. Keys of the cache: `last:ID` (see `Wall`), which tells without the database
 * whether a friend has written; `p:ID`, the newest posts of an author, valid while the first of them is as new as `last:ID`
 * says.
 */
final class Feed
{
    /** Posts of a page. At most this many authors have one among them: the latest. */
    private const PAGE = 20;
    /** Posts of one answer to a poll; the next poll brings the rest. */
    private const POLL = 50;
    /** Seconds that the posts of an author stay in the cache. */
    private const KEEP = 3600;
    /**
     * Milliseconds after which no post of a smaller number can still appear: after 5 s without an answer of the database the
     * author gets an error.
     */
    private const SETTLED = 10_000;

    public function __construct(
        private readonly Db $db,
        private readonly Cache $cache,
        private readonly Friends $friends,
    ) {
    }

    /**
     * The newest posts of a user and the user's friends, newest first.
     *
     * @return list<Post>
     */
    public function newest(int $user, bool $own = true): array
    {
        $authors = $this->friends->of($user);
        if ($own) {
            $authors[] = $user;
        }
        if ($authors === []) {
            return [];
        }
        if (!$this->cache->isThere()) {
            $marks = Db::marks(count($authors));
            $sql = 'SELECT ' . Wall::COLUMNS . " FROM posts WHERE author IN ($marks) ORDER BY id DESC LIMIT " . self::PAGE;
            return array_map(Post::fromRow(...), $this->db->rows($sql, $authors));
        }
        $last = array_filter($this->last($authors));
        arsort($last);
        $posts = $this->recent(array_slice($last, 0, self::PAGE, true));
        usort($posts, static fn (Post $one, Post $other): int => $other->id <=> $one->id);
        return array_slice($posts, 0, self::PAGE);
    }

    /**
     * The number after which a page with these posts polls for further ones. A post with a smaller number than a shown one
     * may still be on its way into the database; so the page polls for the latest again, and shows each once.
     *
     * @param list<Post> $shown newest first
     */
    public static function cursor(array $shown, int $now): int
    {
        foreach ($shown as $post) {
            if ($post->at <= $now - self::SETTLED) {
                return $post->id;
            }
        }
        return $shown === [] ? 0 : end($shown)->id - 1;
    }

    /**
     * Posts of friends after the post `since`, oldest first.
     *
     * @return list<Post>
     */
    public function since(int $user, int $since): array
    {
        $friends = $this->friends->of($user);
        if ($friends === [] || !$this->isNewer($friends, $since)) {
            return [];
        }
        $marks = Db::marks(count($friends));
        // A post gets its number before it appears. This waits for friends who are about to post; a post begun later
        // gets a higher number than all that is read here, so no post can appear behind the newest of this answer.
        $lock = "SELECT id FROM users FORCE INDEX (PRIMARY) WHERE id IN ($marks) ORDER BY id LOCK IN SHARE MODE";
        $sql = 'SELECT ' . Wall::COLUMNS . " FROM posts WHERE author IN ($marks) AND id > ? ORDER BY id LIMIT " . self::POLL;
        $rows = $this->db->transaction(function () use ($lock, $sql, $friends, $since): array {
            $this->db->column($lock, $friends);
            return $this->db->rows($sql, [...$friends, $since]);
        });
        return array_map(Post::fromRow(...), $rows);
    }

    /** @param list<int> $authors */
    private function isNewer(array $authors, int $since): bool
    {
        if ($this->cache->isThere()) {
            return max($this->last($authors)) > $since;
        }
        $marks = Db::marks(count($authors));
        return $this->db->value("SELECT 1 FROM posts WHERE author IN ($marks) AND id > ? LIMIT 1", [...$authors, $since]) !== null;
    }

    /**
     * The number of each author's newest post; 0 without any.
     *
     * @param list<int> $authors
     * @return array<int, int>
     */
    private function last(array $authors): array
    {
        $known = $this->cache->many(array_map(static fn (int $id): string => "last:$id", $authors));
        $last = [];
        foreach ($known as $key => $id) {
            $last[(int) substr($key, 5)] = (int) $id;
        }
        $missing = array_values(array_diff($authors, array_keys($last)));
        if ($missing !== []) {
            $marks = Db::marks(count($missing));
            $sql = "SELECT author, MAX(id) AS id FROM posts WHERE author IN ($marks) GROUP BY author";
            $there = array_column($this->db->rows($sql, $missing), 'id', 'author');
            foreach ($missing as $author) {
                $last[$author] = (int) ($there[$author] ?? 0);
                $this->cache->add("last:$author", (string) $last[$author], Wall::KEEP);
            }
        }
        return $last;
    }

    /**
     * The newest posts of these authors, in no order.
     *
     * @param array<int, int> $last the newest post of each author
     * @return list<Post>
     */
    private function recent(array $last): array
    {
        $posts = $missing = [];
        $known = $this->cache->many(array_map(static fn (int $id): string => "p:$id", array_keys($last)));
        foreach ($last as $author => $newest) {
            $rows = json_decode($known["p:$author"] ?? '[]', true, 4, JSON_THROW_ON_ERROR);
            if ($rows === [] || $rows[0][0] < $newest) {
                $missing[] = $author;
            } else {
                array_push($posts, ...array_map(static fn (array $fields): Post => new Post(...$fields), $rows));
            }
        }
        if ($missing === []) {
            return $posts;
        }
        $one = '(SELECT ' . Wall::COLUMNS . ' FROM posts WHERE author = ? ORDER BY id DESC LIMIT ' . self::PAGE . ')';
        $rows = $this->db->rows(implode(' UNION ALL ', array_fill(0, count($missing), $one)), $missing);
        $of = [];
        foreach (array_map(Post::fromRow(...), $rows) as $post) {
            $of[$post->author][] = $post;
        }
        foreach ($of as $author => $its) {
            usort($its, static fn (Post $one, Post $other): int => $other->id <=> $one->id);
            $fields = array_map(static fn (Post $post): array => $post->fields(), $its);
            $this->cache->set("p:$author", json_encode($fields, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE), self::KEEP);
            array_push($posts, ...$its);
        }
        return $posts;
    }
}
