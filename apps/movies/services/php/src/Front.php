<?php

declare(strict_types=1);

namespace Movies\Php;

use Movies\Chassis\{Caller, Config, Context, Log, Outcome, Registry, Requests, SharedCounts, Spans};
use Movies\Idl\Code;

/** From a request of HTTP to its answer, including errors, with counters and spans. */
final class Front
{
    private readonly Context $context;
    private readonly SharedCounts $counts;
    private readonly Spans $spans;
    private readonly int $arrived;
    private Outcome $outcome = Outcome::Ok;
    /** Its name in the registry. */
    private ?string $name = null;

    /** @param int $begun CLOCK_MONOTONIC in ns, when the script began */
    public function __construct(
        private readonly Config $config,
        private readonly Request $request,
        private readonly int $begun,
    ) {
        Log::begin($config);
        $this->context = new Context();
        $this->counts = new SharedCounts();
        $this->spans = new Spans($config, $this->counts);
        // Both say by the wall clock when they had it: the web server, and PHP, which takes it only when a process is free.
        $wall = microtime(true) - (hrtime(true) - $begun) / 1e9;
        $taken = (int) (($wall - (float) $_SERVER['REQUEST_TIME_FLOAT']) * 1e9);
        $this->arrived = $begun - max(0, $taken, Arrival::waited((string) ($_SERVER['HANDED_ON'] ?? ''), $wall));
    }

    /** @param list<array{string, string, string, string|null}> $routes method, path, operation, its name */
    public function run(array $routes): void
    {
        $cpu = Requests::cpu();
        [$decoded, $answer] = $this->answer($routes);
        $returned = hrtime(true);
        $body = $answer->encoded();
        $encoded = hrtime(true);
        $answer->send($body, $encoded - $this->arrived);
        $stamps = [$this->arrived, $this->begun, $decoded, $returned, $encoded];
        $cpu = Requests::cpu() - $cpu;
        if ($this->name !== null) {
            $this->counts->add(Requests::counted($stamps, $this->outcome, $cpu));
        }
        // Before the end of the answer goes out, so that a next request finds this one counted.
        $this->counts->flush();
        fastcgi_finish_request();
        // The web server has the whole answer now; the rest does not delay the user.
        if ($this->name !== null && $this->context->isSampled) {
            $this->spans->add($this->context, Spans::SERVER, 0, Registry::method('php', $this->name), $this->outcome,
                $this->context->span, $this->context->parent, [...$stamps, hrtime(true)], $cpu, strlen($this->request->body), strlen($body));
            $this->spans->flush();
            $this->counts->flush();
        }
    }

    /**
     * The time at which the route was known, and the answer.
     *
     * @param list<array{string, string, string, string|null}> $routes
     * @return array{int, Answer}
     */
    private function answer(array $routes): array
    {
        $decoded = hrtime(true);
        try {
            [$method, $this->name, $arguments] = $this->find($routes);
            // Routes without a name are not traced, and answer even when others have waited for too long.
            if ($this->name === null) {
                $this->context->begin('', null, $this->begun);
            } else {
                $this->context->begin($this->request->header('TRACEPARENT'), null, $this->arrived);
                $this->context->check('the request waited ' . intdiv($this->begun - $this->arrived, 1_000_000) . ' ms for a process of PHP');
            }
            $caller = new Caller($this->config, $this->context, $this->counts, $this->spans);
            $api = new Api($caller, $this->counts, $this->config->secretBytes(), $this->request);
            $decoded = hrtime(true);
            return [$decoded, $api->$method(...$arguments)];
        } catch (\Throwable $error) {
            $problem = Problem::of($error);
            $this->outcome = $problem->outcome;
            if ($problem->status === 500) {
                Log::error($error->getMessage(), ['at' => basename($error->getFile()) . ':' . $error->getLine()]);
            } elseif ($problem->outcome === Outcome::Failed) {
                Log::error($problem->getMessage(), ['path' => $this->request->path]);
            }
            return [$decoded, Answer::problem($problem)];
        }
    }

    /**
     * @param list<array{string, string, string, string|null}> $routes
     * @return array{string, string|null, list<int>}
     */
    private function find(array $routes): array
    {
        $allowed = [];
        foreach ($routes as [$for, $path, $method, $name]) {
            $pattern = '#^' . str_replace('\{number\}', '([1-9][0-9]{0,17})', preg_quote($path, '#')) . '$#D';
            if (preg_match($pattern, $this->request->path, $found) === 1) {
                if ($for === $this->request->method) {
                    return [$method, $name, array_map(intval(...), array_slice($found, 1))];
                }
                $allowed[] = $for;
            }
        }
        if ($allowed !== []) {
            $what = "{$this->request->path} takes " . implode(' or ', $allowed);
            throw new Problem(405, 'METHOD_NOT_ALLOWED', $what, Outcome::Refused, ['Allow' => implode(', ', $allowed)]);
        }
        throw new Problem(Code::NOT_FOUND, 'NOT_FOUND', 'there is nothing at this address');
    }
}
