<?php

declare(strict_types=1);

namespace Social;

use PDO;
use PDOException;
use PDOStatement;

/**
 * The database. Each statement is prepared by the server, so that no value is ever part of a statement; the connection
 * outlives the request, and is made at its first statement.
 */
final class Db
{
    /** The transaction was chosen to end so that others go on (1213), or waited too long for a row (1205). */
    private const AGAIN = [1213, 1205];
    /** How often a transaction is tried: a second collision is rare. */
    private const TRIES = 3;

    public readonly Timing $timing;
    private ?PDO $pdo = null;
    /** @var array<string, PDOStatement> */
    private array $prepared = [];

    /** @param array{socket?: string, host?: string, port?: int, name: string, user: string, password?: string} $config */
    public function __construct(private readonly array $config)
    {
        $this->timing = new Timing();
    }

    /**
     * @param list<int|string|null> $values
     * @return list<array<string, mixed>>
     */
    public function rows(string $sql, array $values = []): array
    {
        return $this->timing->of(fn () => $this->execute($sql, $values)->fetchAll());
    }

    /**
     * @param list<int|string|null> $values
     * @return array<string, mixed>|null
     */
    public function row(string $sql, array $values = []): ?array
    {
        return $this->rows($sql, $values)[0] ?? null;
    }

    /**
     * The first column of each row.
     *
     * @param list<int|string|null> $values
     * @return list<mixed>
     */
    public function column(string $sql, array $values = []): array
    {
        return $this->timing->of(fn () => $this->execute($sql, $values)->fetchAll(PDO::FETCH_COLUMN));
    }

    /**
     * The first column of the first row; null without a row.
     *
     * @param list<int|string|null> $values
     */
    public function value(string $sql, array $values = []): mixed
    {
        return $this->column($sql, $values)[0] ?? null;
    }

    /**
     * Changes rows; returns the number of the row that it added, if any.
     *
     * @param list<int|string|null> $values
     */
    public function run(string $sql, array $values = []): int
    {
        return $this->timing->of(function () use ($sql, $values): int {
            $this->execute($sql, $values)->closeCursor();
            return (int) $this->pdo()->lastInsertId();
        });
    }

    /**
     * Runs `$work` in a transaction; runs it again after a collision with another transaction.
     *
     * @template T
     * @param callable(): T $work
     * @return T
     */
    public function transaction(callable $work): mixed
    {
        for ($try = 1;; $try++) {
            $this->timing->of(fn () => $this->pdo()->beginTransaction());
            try {
                $result = $work();
                $this->timing->of(fn () => $this->pdo()->commit());
                return $result;
            } catch (\Throwable $error) {
                $this->rollBack();
                if (!in_array(self::code($error), self::AGAIN, true) || $try === self::TRIES) {
                    throw $error;
                }
            }
        }
    }

    /** Question marks for a list of values. */
    public static function marks(int $count): string
    {
        return implode(',', array_fill(0, $count, '?'));
    }

    /** The number of MariaDB's error; 0 for any other error. */
    public static function code(\Throwable $error): int
    {
        return $error instanceof PDOException ? (int) ($error->errorInfo[1] ?? 0) : 0;
    }

    private function rollBack(): void
    {
        try {
            if ($this->pdo?->inTransaction()) {
                $this->pdo->rollBack();
            }
        } catch (PDOException) {
            // The connection is gone, and the transaction with it.
        }
    }

    /** @param list<int|string|null> $values */
    private function execute(string $sql, array $values): PDOStatement
    {
        $statement = $this->prepared[$sql] ??= $this->pdo()->prepare($sql);
        foreach ($values as $at => $value) {
            $statement->bindValue($at + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
        $statement->execute();
        return $statement;
    }

    private function pdo(): PDO
    {
        return $this->pdo ??= new PDO(self::source($this->config), $this->config['user'], $this->config['password'] ?? '', [
            PDO::ATTR_PERSISTENT => true,
            PDO::ATTR_EMULATE_PREPARES => false,
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            // Seconds to connect; for answers php.ini has mysqlnd.net_read_timeout.
            PDO::ATTR_TIMEOUT => 2,
            PDO::MYSQL_ATTR_MULTI_STATEMENTS => false,
            // Reads behind a lock must see the current rows, and a locked range must not block inserts into it.
            PDO::MYSQL_ATTR_INIT_COMMAND => 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
        ]);
    }

    /** @param array<string, mixed> $config */
    private static function source(array $config): string
    {
        $place = isset($config['socket'])
            ? "unix_socket={$config['socket']}"
            : "host={$config['host']};port={$config['port']}";
        return "mysql:$place;dbname={$config['name']};charset=utf8mb4";
    }
}
