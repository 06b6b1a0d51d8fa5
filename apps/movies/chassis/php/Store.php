<?php

declare(strict_types=1);

namespace Movies\Chassis;

use PDO;
use PDOException;
use PDOStatement;

/**
 * The documents of a domain in PostgreSQL: tables of an id and a document of JSON, reached by id alone. A connection to
 * each shard is kept by the process.
 */
final class Store
{
    /** The place of `update` among the operations of stores that spans have. */
    private const UPDATE = 3;
    /** The statement ran out of its time. */
    private const CANCELED = '57014';
    /** libpq takes no less. Units: s. */
    private const LEAST_CONNECT = 2;

    /** @var array<int, PDO> by shard */
    private array $connections = [];
    /** @var array<string, PDOStatement> */
    private array $prepared = [];
    private int $shard = 0;

    /** @param non-empty-list<string> $addresses */
    public function __construct(
        private readonly string $name,
        private readonly array $addresses,
        private readonly Context $context,
        private readonly Counts $counts,
        private readonly Spans $spans,
    ) {
    }

    /**
     * Runs `$work` on the shard of `$key`, in a transaction. It runs once more if the connection broke, so it must be safe
     * to repeat. An exception rolls the transaction back.
     *
     * Errors: `Failure`.
     *
     * @template T
     * @param callable(self): T $work
     * @return T
     */
    public function update(string $key, callable $work): mixed
    {
        $begun = hrtime(true);
        $this->shard = Jump::shard($key, count($this->addresses));
        $outcome = Outcome::Failed;
        try {
            try {
                $result = $this->transaction($work);
            } catch (PDOException $error) {
                if (!$this->isLost($error)) {
                    throw $error;
                }
                $result = $this->transaction($work);
            }
            $outcome = Outcome::Ok;
            return $result;
        } catch (PDOException $error) {
            if (self::state($error) === self::CANCELED) {
                $outcome = Outcome::Deadline;
                throw Failure::deadline("$this->name did not answer in time");
            }
            // libpq's message has several lines; the first names the error.
            throw Failure::unavailable($this->name, strtok($error->getMessage(), "\n"), $error);
        } catch (Failure $failure) {
            $outcome = $failure->outcome;
            throw $failure;
        } catch (\Movies\Idl\Refused $refused) {
            $outcome = Outcome::Ok;
            throw $refused;
        } finally {
            $this->ended($outcome, $begun);
        }
    }

    /**
     * Locks the document until this transaction ends; null if there is none.
     *
     * @return array<string, mixed>|null
     */
    public function lock(string $table, string $id): ?array
    {
        return $this->read("SELECT doc FROM $table WHERE id = ? FOR UPDATE", $id);
    }

    /** @return array<string, mixed>|null */
    public function get(string $table, string $id): ?array
    {
        return $this->read("SELECT doc FROM $table WHERE id = ?", $id);
    }

    /**
     * Whether it was added: false if its id exists.
     *
     * @param array<string, mixed> $doc
     */
    public function insert(string $table, string $id, array $doc): bool
    {
        $sql = "INSERT INTO $table (id, doc) VALUES (?, ?::jsonb) ON CONFLICT DO NOTHING";
        return $this->execute($sql, [$id, json_encode($doc, JSON_THROW_ON_ERROR)])->rowCount() === 1;
    }

    /**
     * Changes some fields of a document.
     *
     * @param array<string, mixed> $fields
     */
    public function set(string $table, string $id, array $fields): void
    {
        $this->execute("UPDATE $table SET doc = doc || ?::jsonb WHERE id = ?", [json_encode($fields, JSON_THROW_ON_ERROR), $id]);
    }

    /** @param callable(self): mixed $work */
    private function transaction(callable $work): mixed
    {
        $ms = intdiv($this->context->left(), 1_000_000);
        if ($ms <= 0) {
            throw Failure::deadline("nothing is left to ask $this->name");
        }
        $connection = $this->connections[$this->shard] ??= $this->connect($this->addresses[$this->shard]);
        try {
            $connection->exec("BEGIN; SET LOCAL statement_timeout = $ms");
            $result = $work($this);
            $connection->exec('COMMIT');
            return $result;
        } catch (\Throwable $error) {
            $this->rollBack($connection);
            throw $error;
        }
    }

    private function rollBack(PDO $connection): void
    {
        try {
            $connection->exec('ROLLBACK');
        } catch (PDOException) {
            // The connection is gone, and the transaction with it.
            $this->forget();
        }
    }

    private function forget(): void
    {
        unset($this->connections[$this->shard]);
        foreach (array_keys($this->prepared) as $key) {
            if (str_starts_with($key, "$this->shard ")) {
                unset($this->prepared[$key]);
            }
        }
    }

    /** @return array<string, mixed>|null */
    private function read(string $sql, string $id): ?array
    {
        $statement = $this->execute($sql, [$id]);
        $doc = $statement->fetchColumn();
        $statement->closeCursor();
        return $doc === false ? null : json_decode($doc, true, 16, JSON_THROW_ON_ERROR);
    }

    /** @param list<string> $values */
    private function execute(string $sql, array $values): PDOStatement
    {
        $this->context->check("nothing is left to ask $this->name");
        $statement = $this->prepared["$this->shard $sql"] ??= $this->connections[$this->shard]->prepare($sql);
        $statement->execute($values);
        return $statement;
    }

    private function connect(string $address): PDO
    {
        $parts = StoreAddress::parse($address);
        return new PDO($parts->dsn(), $parts->user, $parts->password, [
            PDO::ATTR_EMULATE_PREPARES => false,
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_TIMEOUT => max(self::LEAST_CONNECT, intdiv($this->context->left(), 1_000_000_000)),
        ]);
    }

    /** Whether the connection broke, as it does when the database was started again. */
    private function isLost(PDOException $error): bool
    {
        // PDO reports HY000 if libpq has no SQLSTATE: the connection is gone.
        return !isset($this->connections[$this->shard]) && preg_match('/^(?:08|57P|HY000)/', self::state($error)) === 1;
    }

    private static function state(PDOException $error): string
    {
        return (string) ($error->errorInfo[0] ?? $error->getCode());
    }

    private function ended(Outcome $outcome, int $begun): void
    {
        $now = hrtime(true);
        $edge = "edge.$this->name.update";
        $isError = $outcome === Outcome::Failed || $outcome === Outcome::Deadline;
        $this->counts->add(["$edge.calls" => 1, "$edge.errors" => (int) $isError, "$edge.ns" => $now - $begun]);
        if ($this->context->isSampled) {
            $this->spans->add($this->context, Spans::STORE, Registry::store($this->name), self::UPDATE, $outcome,
                Context::newSpan(), $this->context->span, [$begun, $begun, $begun, $begun, $now, $now]);
        }
    }
}
