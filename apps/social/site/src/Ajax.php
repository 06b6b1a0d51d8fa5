<?php

declare(strict_types=1);

namespace Social;

/** Requests of the site's script, answered in JSON: the same as by forms, and polling for news. */
final class Ajax
{
    public static function wall(Site $site): Reply
    {
        $author = $site->session->user();
        return Reply::json(['id' => $site->wall->post($author, $author, $site->request->written('body', Wall::MOST))]);
    }

    public static function friend(Site $site): Reply
    {
        $other = $site->users->named($site->request->form('user'));
        return Reply::json(['state' => $site->friends->request($site->session->user(), $other->id)]);
    }

    public static function chatSent(Site $site): Reply
    {
        $to = $site->users->named($site->request->form('to'));
        return Reply::json(['id' => $site->chat->send($site->session->user(), $to->id, $site->request->written('body', Chat::MOST))]);
    }

    public static function chat(Site $site): Reply
    {
        $since = $site->request->since();
        $messages = $site->chat->since($site->session->user(), $since);
        $users = self::users($site, $messages);
        return Reply::json([
            'last' => $messages === [] ? $since : end($messages)->id,
            'messages' => array_map(static fn (Post $message): array => [
                'id' => $message->id,
                'from' => $users[$message->author]->name,
                'to' => $users[$message->wall]->name,
                'body' => $message->body,
                'at' => $message->time(),
            ], $messages),
        ]);
    }

    public static function feed(Site $site): Reply
    {
        $since = $site->request->since();
        $posts = $site->feed->since($site->session->user(), $since);
        $users = self::users($site, $posts);
        return Reply::json([
            'last' => $posts === [] ? $since : end($posts)->id,
            'posts' => array_map(static function (Post $post) use ($users): array {
                $author = $users[$post->author];
                return [
                    'id' => $post->id,
                    'author' => $author->name,
                    'display' => $author->display,
                    'body' => $post->body,
                    'at' => $post->time(),
                ] + ($author->avatar > 0 ? ['avatar' => $author->avatar] : []);
            }, $posts),
        ]);
    }

    /**
     * @param list<Post> $posts
     * @return array<int, User>
     */
    private static function users(Site $site, array $posts): array
    {
        $ids = [];
        foreach ($posts as $post) {
            $ids[$post->author] = $ids[$post->wall] = true;
        }
        return $ids === [] ? [] : $site->users->many(array_keys($ids));
    }
}
