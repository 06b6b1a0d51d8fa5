<?php

declare(strict_types=1);

namespace Social;

/** The parts of the site for one request: from request to answer, including errors. */
final class Site
{
    public readonly Db $db;
    public readonly Cache $cache;
    public readonly Users $users;
    public readonly Friends $friends;
    public readonly Wall $wall;
    public readonly Feed $feed;
    public readonly Chat $chat;
    public readonly Csrf $csrf;
    public Session $session;
    private ?View $view = null;

    /**
     * @param array<string, mixed> $config `config.php` of this installation
     * @param array{secret: string, dummy_hash: string} $made `installation.php`, which `bin/setup.php` makes
     */
    public function __construct(private readonly array $config, array $made, public readonly Request $request)
    {
        $this->db = new Db($config['database']);
        $this->cache = new Cache($config['cache']);
        $this->users = new Users($this->db, $this->cache, $config['hash_cost'], $made['dummy_hash']);
        $this->friends = new Friends($this->db, $this->cache);
        $this->wall = new Wall($this->db, $this->cache, $this->friends);
        $this->feed = new Feed($this->db, $this->cache, $this->friends);
        $this->chat = new Chat($this->db, $this->cache, $this->friends);
        $this->csrf = new Csrf($made['secret']);
    }

    /**
     * The answer to the request.
     *
     * @param list<array{string, string, callable, string}> $routes method, path, operation, and for whom
     */
    public function answer(array $routes): Reply
    {
        try {
            $reply = $this->session($this->routed($routes));
        } catch (Problem $problem) {
            $this->log($problem->getPrevious());
            $reply = $this->problem($problem);
        } catch (\PDOException $error) {
            $this->log($error);
            $reply = $this->problem(Problem::unavailable($error));
        } catch (\Throwable $error) {
            $this->log($error);
            $reply = $this->problem(new Problem(500, 'Something went wrong here. It is written down, and will be looked at.'));
        }
        return $reply->header('Server-Timing', Timing::header($this->db->timing, $this->cache->timing));
    }

    /** @param array<string, mixed> $values */
    public function page(string $template, array $values, int $status = 200): Reply
    {
        $this->view ??= new View($this->config['state'] . '/twig');
        return Reply::page($this->view->render($template, $values + ['me' => null, 'token' => null]), $status);
    }

    /** The user who is logged in. */
    public function me(): User
    {
        return $this->users->find($this->session->user()) ?? throw Problem::forbidden('This user is not here any more.');
    }

    /** @param list<array{string, string, callable, string}> $routes */
    private function routed(array $routes): Reply
    {
        $allowed = [];
        // A page may be asked for its head alone.
        $method = $this->request->method === 'HEAD' ? 'GET' : $this->request->method;
        foreach ($routes as [$for, $path, $answer, $who]) {
            $pattern = '#^' . str_replace('{name}', '([^/]+)', $path) . '$#D';
            if (preg_match($pattern, $this->request->path, $found) !== 1) {
                continue;
            }
            if ($for === $method) {
                return $this->answered($answer, $who, array_slice($found, 1));
            }
            $allowed[] = $for;
        }
        if ($allowed !== []) {
            throw new Problem(405, 'This cannot be asked for in this way.', ['Allow' => implode(', ', $allowed)]);
        }
        throw Problem::notFound('This page');
    }

    /** @param list<string> $parts of the path */
    private function answered(callable $answer, string $who, array $parts): Reply
    {
        if ($who === 'machine') {
            return $answer($this);
        }
        $this->standStill();
        $this->session = new Session($this->request, $this->cache, $this->db);
        if ($who === 'user' && $this->session->user() === 0) {
            return $this->request->isAjax()
                ? throw new Problem(401, 'You are not logged in.')
                : Reply::redirect('/login');
        }
        if ($this->request->method === 'POST') {
            $this->csrf->check($this->request, $this->session->id());
        }
        return $answer($this, ...$parts);
    }

    /** Waits during a planted stall, if the installation is configured for it. */
    private function standStill(): void
    {
        ['ms' => $length, 'every_ms' => $every] = $this->config['stall'];
        $left = $length - intdiv(hrtime(true), 1_000_000) % $every;
        if ($left > 0) {
            usleep($left * 1000);
        }
    }

    private function session(Reply $reply): Reply
    {
        return isset($this->session) ? $this->session->answer($reply) : $reply;
    }

    private function problem(Problem $problem): Reply
    {
        $reply = $this->request->isAjax()
            ? Reply::json(['error' => $problem->getMessage()], $problem->status)
            : $this->page('error', ['status' => $problem->status, 'message' => $problem->getMessage()], $problem->status);
        foreach ($problem->headers as $name => $value) {
            $reply->header($name, $value);
        }
        return $reply;
    }

    private function log(?\Throwable $error): void
    {
        if ($error !== null) {
            // The path without its query, and no fields: users' texts do not belong in a log.
            $place = basename($error->getFile()) . ':' . $error->getLine();
            error_log("{$this->request->method} {$this->request->path}: $place: {$error->getMessage()}");
        }
    }
}
