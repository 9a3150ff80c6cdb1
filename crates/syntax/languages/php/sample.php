<?php

declare(strict_types=1);

namespace Shop\Orders;

use Countable;
use Psr\Log\{LoggerInterface, NullLogger as Silent};
use function Shop\Text\clean;
use Shop\Base\Store as BaseStore;

require_once __DIR__ . '/bootstrap.php';
include 'helpers.php';

const LIMIT = 10, LEAST = 1;
define('SHOP_VERSION', '1.2');

/**
 * Where an order stands.
 */
enum State: string
{
    case Open = 'open';
    case Closed = 'closed';

    public const DEFAULT = self::Open;

    public static function fromText(string $text): self
    {
        return match (true) {
            $text === 'open', $text === '' => self::Open,
            default => self::Closed,
        };
    }
}

interface Finder extends Countable
{
    public const DEPTH = 2;

    /** Finds an order. */
    public function find(string $id, bool $deep = false): ?Order;
}

/** Writes to the log. */
trait Logs
{
    private ?LoggerInterface $logger = null;

    abstract protected function channel(): string;

    protected function log(string $text, mixed ...$values): void
    {
        $this->logger?->info($text, $values);
    }
}

/**
 * Keeps orders.
 *
 * @template T of Order
 */
#[Service]
#[Tag('store'), Shared(false)]
final class OrderStore extends BaseStore implements Finder
{
    use Logs;

    private const STEP = 5;
    final protected const int MOST = 9;

    /** @var Order[] what it holds */
    protected array $orders = [], $spare;
    public static int $count = 0;
    public readonly string $name;
    var $old;

    /**
     * Makes a store.
     *
     * @param string $path where it is kept
     * @throws \RuntimeException where it can't be read
     */
    public function __construct(private readonly string $path, protected int|string $size = 10, array &$list = [])
    {
        parent::__construct($path);
        if ($size > 1 && !is_dir($path)) {
            throw new \RuntimeException($path);
        } elseif ($size === 0 or $path === '') {
            $this->size = LIMIT;
        } else {
            clean($path);
        }
    }

    #[\ReturnTypeWillChange]
    public function count(): int
    {
        $total = 0;
        foreach ($this->orders as $id => $order) {
            for ($i = 0; $i < 3; $i++) {
                $total += $order ? 1 : 0;
            }
        }
        return $total ?: self::$count;
    }

    function find(string $id, bool $deep = false): ?Order
    {
        try {
            return $this->orders[$id] ?? static::load($id);
        } catch (NotFound | Gone $e) {
            return null;
        } finally {
            self::$count++;
        }
    }

    abstract static protected function load(string $id): Order;

    protected function channel(): string
    {
        switch ($this->name) {
            case 'a':
                return 'first';
            default:
                return 'other';
        }
    }
}

// Adds one.
function &add(OrderStore $store, Order ...$orders): array
{
    $last = fn (Order $one): bool => $one->open() xor true;
    $each = function ($one) use ($store) { while (true) { break; } };
    array_map($each, $orders);
    return $orders;
}

$handler = new class extends OrderStore {
    public function run(): void {}
};
