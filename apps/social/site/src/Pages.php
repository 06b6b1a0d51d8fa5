<?php

declare(strict_types=1);

namespace Social;

/** Requests that are answered by a page or a redirect. All of them work in a browser without scripts. */
final class Pages
{
    /** Friends shown on the home page. */
    private const FRIENDS = 12;
    /** Requests for friendship shown on the home page. */
    private const ASKING = 5;
    /** Posts of a wall, requests and finds of a page. */
    private const MOST = 20;

    public static function loginForm(Site $site): Reply
    {
        if ($site->session->user() !== 0) {
            return Reply::redirect('/');
        }
        return self::login($site, $site->request->query('registered') === '1' ? 'Welcome! You can log in now.' : null);
    }

    public static function loginSent(Site $site): Reply
    {
        $name = $site->request->form('name');
        $user = $site->users->verified($name, $site->request->form('password'));
        if ($user === null) {
            return self::login($site, null, 'This name and password do not belong together.', $name, 422);
        }
        $site->session->login($user);
        return Reply::redirect('/');
    }

    private static function login(
        Site $site,
        ?string $notice = null,
        ?string $wrong = null,
        string $name = '',
        int $status = 200,
    ): Reply {
        $token = $site->csrf->token($site->session->visit());
        return $site->page('login', compact('token', 'notice', 'wrong', 'name'), $status);
    }

    public static function logout(Site $site): Reply
    {
        $site->session->logout();
        return Reply::redirect('/login');
    }

    public static function registerForm(Site $site): Reply
    {
        return self::register($site);
    }

    public static function registerSent(Site $site): Reply
    {
        $form = $site->request;
        [$name, $display] = [$form->form('name'), $form->form('display')];
        try {
            $site->users->create($name, $display, $form->form('password'));
        } catch (Problem $problem) {
            return self::register($site, $problem->getMessage(), $name, $display, $problem->status);
        }
        return Reply::redirect('/login?registered=1');
    }

    private static function register(
        Site $site,
        ?string $wrong = null,
        string $name = '',
        string $display = '',
        int $status = 200,
    ): Reply {
        $token = $site->csrf->token($site->session->visit());
        return $site->page('register', compact('token', 'wrong', 'name', 'display'), $status);
    }

    public static function home(Site $site): Reply
    {
        $me = $site->session->user();
        // Look up the newest message first, so that the next poll fetches one that arrives during this request.
        $message = $site->chat->newest($me);
        $posts = $site->feed->newest($me);
        $friends = $site->friends->of($me);
        $shown = array_slice($friends, 0, self::FRIENDS);
        $asking = $site->friends->asking($me, self::ASKING);
        return self::forUser($site, 'home', [
            'posts' => $posts,
            'cursor' => Feed::cursor($posts, time() * 1000),
            'message' => $message,
            'friends' => $shown,
            'friend_count' => count($friends),
            'asking' => $asking,
        ], [...self::of($posts), ...$shown, ...$asking]);
    }

    public static function feed(Site $site): Reply
    {
        $posts = $site->feed->newest($site->session->user(), own: false);
        $cursor = Feed::cursor($posts, time() * 1000);
        return self::forUser($site, 'feed', compact('posts', 'cursor'), self::of($posts));
    }

    public static function wallSent(Site $site): Reply
    {
        [$on, $author] = [$site->request->form('wall'), $site->session->user()];
        $wall = $on === '' ? null : $site->users->named($on);
        $site->wall->post($author, $wall?->id ?? $author, $site->request->written('body', Wall::MOST));
        return Reply::redirect($wall === null ? '/' : "/u/$wall->name");
    }

    public static function wall(Site $site, string $name): Reply
    {
        [$owner, $me] = [$site->users->named($name), $site->session->user()];
        $state = $owner->id === $me ? 'self' : $site->friends->state($me, $owner->id);
        $posts = $site->wall->of($owner->id, self::MOST);
        return self::forUser($site, 'wall', compact('owner', 'state', 'posts'), self::of($posts));
    }

    public static function friendSent(Site $site): Reply
    {
        $other = $site->users->named($site->request->form('user'));
        $site->friends->request($site->session->user(), $other->id);
        return self::back($site, $other);
    }

    public static function unfriendSent(Site $site): Reply
    {
        $other = $site->users->named($site->request->form('user'));
        $site->friends->end($site->session->user(), $other->id);
        return self::back($site, $other);
    }

    /** Back to the page that has the button; never to an address out of the request. */
    private static function back(Site $site, User $other): Reply
    {
        return Reply::redirect(match ($site->request->form('from')) {
            'wall' => "/u/$other->name",
            'friends' => '/friends',
            default => '/',
        });
    }

    public static function friends(Site $site): Reply
    {
        $me = $site->session->user();
        $friends = $site->friends->of($me);
        $asking = $site->friends->asking($me, self::MOST);
        $sought = strtolower(trim($site->request->query('q')));
        $found = $site->users->beginning($sought, self::MOST);
        $states = $site->friends->states($me, array_column($found, 'id'));
        $values = compact('friends', 'asking', 'sought', 'found', 'states');
        return self::forUser($site, 'friends', $values, [...$friends, ...$asking]);
    }

    public static function chats(Site $site): Reply
    {
        $me = $site->session->user();
        $newest = $site->chat->newest($me);
        $messages = $site->chat->latest($me);
        $friends = array_slice($site->friends->of($me), 0, self::FRIENDS);
        $values = ['with' => null, 'newest' => $newest, 'messages' => $messages, 'friends' => $friends];
        return self::forUser($site, 'chat', $values, [...self::of($messages), ...$friends]);
    }

    public static function chat(Site $site, string $name): Reply
    {
        [$with, $me] = [$site->users->named($name), $site->session->user()];
        $newest = $site->chat->newest($me);
        $messages = $site->chat->with($me, $with->id);
        return self::forUser($site, 'chat', compact('with', 'newest', 'messages'), self::of($messages));
    }

    public static function chatSent(Site $site, string $name): Reply
    {
        $with = $site->users->named($name);
        $site->chat->send($site->session->user(), $with->id, $site->request->written('body', Chat::MOST));
        return Reply::redirect("/chat/$with->name");
    }

    public static function settings(Site $site): Reply
    {
        return self::forUser($site, 'settings', ['saved' => $site->request->query('saved') === '1', 'wrong' => null]);
    }

    public static function settingsSent(Site $site): Reply
    {
        $me = $site->me();
        try {
            $file = $site->request->file('avatar', Avatar::MOST);
            $image = $file === null ? null : Avatar::encoded($file);
            $display = $site->request->form('display');
            if ($display !== $me->display) {
                $site->users->rename($me->id, $display);
            }
            if ($image !== null) {
                $site->users->setAvatar($me->id, $image);
            }
        } catch (Problem $problem) {
            $values = ['saved' => false, 'wrong' => $problem->getMessage()];
            return self::forUser($site, 'settings', $values, [], $problem->status);
        }
        return Reply::redirect('/settings?saved=1');
    }

    public static function avatar(Site $site, string $name): Reply
    {
        return Reply::image($site->users->avatar($site->users->named($name)));
    }

    /**
     * Fills the cache as a visit of this user to the home page would, so that a load can begin with a full one. It reveals only
     * that the user exists, as a wall does, too.
     */
    public static function prime(Site $site, string $name): Reply
    {
        $user = $site->users->named($name)->id;
        $site->friends->of($user);
        $site->chat->newest($user);
        $site->feed->newest($user);
        return $site->cache->hasFailed() ? Reply::text("the cache does not answer\n", 503) : Reply::text("primed\n");
    }

    /** Whether the database and the cache answer. */
    public static function ready(Site $site): Reply
    {
        $site->db->value('SELECT id FROM users LIMIT 1');
        $site->cache->get('ready');
        return $site->cache->hasFailed() ? Reply::text("the cache does not answer\n", 503) : Reply::text("ready\n");
    }

    /**
     * A page for a logged-in user, with the users that it names.
     *
     * @param array<string, mixed> $values
     * @param list<int> $named
     */
    private static function forUser(Site $site, string $template, array $values, array $named = [], int $status = 200): Reply
    {
        $me = $site->session->user();
        $users = $site->users->many(array_values(array_unique([$me, ...$named])));
        $token = $site->csrf->token((string) $site->session->id());
        $me = $users[$me] ?? throw Problem::forbidden('This user is not here any more.');
        return $site->page($template, $values + compact('me', 'users', 'token'), $status);
    }

    /**
     * Users named by posts.
     *
     * @param list<Post> $posts
     * @return list<int>
     */
    private static function of(array $posts): array
    {
        return [...array_map(static fn (Post $post): int => $post->author, $posts),
            ...array_map(static fn (Post $post): int => $post->wall, $posts)];
    }
}
