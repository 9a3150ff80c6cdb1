package org.shop;

import java.util.List;
import java.util.function.Function;
import static java.util.Objects.requireNonNull;

/**
 * Keeps the {@link Item items} of a shop.
 *
 * <p>Not safe for threads.
 *
 * @param <T> what is kept
 * @since 1.2
 */
@Deprecated
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class Stock<T extends Comparable<T>> implements Counter {
    /** How many fit. */
    public static final int LIMIT = 1_000, LOW = 10;
    private static final String NAME = "stock";
    protected List<T> items;

    /** Makes one. */
    protected Stock(List<T> items) {
        this.items = requireNonNull(items);
    }

    /**
     * Takes some away.
     *
     * @param name what
     * @param count how many
     * @return how many are left
     * @throws IllegalStateException where there are too few
     */
    @Override
    public synchronized int take(final String name, @Positive int count, String... notes) throws IllegalStateException {
        for (T item : items) {
            if (item.toString().equals(name) && count > 0) {
                return items.size() - count;
            }
        }
        return switch (name) {
            case "all" -> 0;
            default -> throw new IllegalStateException(name);
        };
    }

    abstract <R> R map(Function<? super T, ? extends R> with);

    static int sum(int... counts) {
        int total = 0;
        for (int i = 0; i < counts.length; i++) total += counts[i];
        return total;
    }

    private void clear() {
        Runnable later = () -> items.clear();
        later.run();
    }

    /** A line of a list. */
    public record Item(String name, @Positive int cents) {
        public Item {
            requireNonNull(name);
        }

        static Item free(String name) {
            return new Item(name, 0);
        }
    }

    /** What state it is in. */
    public enum State {
        OPEN,
        CLOSED {
            @Override
            boolean sells() {
                return false;
            }
        };

        boolean sells() {
            return true;
        }
    }

    private static final class Row<K> {
        K key;
    }
}

/** Counts things. */
interface Counter {
    int MOST = 10;

    int take(String name, int count, String... notes);

    default int count() {
        return take("all", MOST);
    }
}

@interface Positive {
    String message() default "must be positive";
}
