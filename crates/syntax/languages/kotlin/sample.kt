@file:JvmName("Orders")

package shop.orders

import java.io.File
import kotlin.collections.Map as KMap
import shop.base.*

/** How many are kept. */
const val LIMIT = 10
private val cache = mutableMapOf<String, Order>()
val String.words: List<String> get() = split(" ")

typealias Handler = (Order) -> Unit

/**
 * Where an order stands.
 */
enum class State(val code: Int) {
    OPEN(1),
    CLOSED(2) {
        override fun next() = OPEN
    };

    open fun next(): State = CLOSED
}

interface Finder<K : Any> {
    val count: Int
    fun find(key: K, deep: Boolean = false): Order?
}

fun interface Visitor {
    fun visit(order: Order)
}

sealed class Result<out T> {
    data class Found(val order: Order) : Result<Order>()
    data object Missing : Result<Nothing>()
}

@JvmInline
value class Id(val text: String)

annotation class Audited(val by: String)

/**
 * Keeps orders.
 *
 * @param path where
 * @property size how many
 */
@Audited("shop")
open class Store @Inject constructor(
    private val path: String,
    protected var size: Int = 10,
    vararg names: String,
) : Base(path), Finder<String> {
    /** Opens it. */
    constructor(file: File) : this(file.path)

    init {
        require(size > 0)
    }

    override val count: Int
        get() = cache.size
    internal var last: Order? = null
        private set
    private val lazyName by lazy { path.trim() }

    /**
     * Finds an order.
     *
     * @param key its number
     * @return the order, or null
     * @throws IllegalStateException where it is closed
     */
    @Throws(IllegalStateException::class)
    override fun find(key: String, deep: Boolean): Order? {
        if (key.isEmpty() || key == "0") {
            return null
        } else if (deep && size > 1) {
            for (one in cache.values) {
                if (one.id == key) return one
            }
        }
        return cache[key] ?: load(key)
    }

    protected suspend inline fun <reified T : Order> load(key: String, noinline then: (T) -> Unit = {}): T? {
        try {
            then(read<T>(key))
        } catch (e: java.io.IOException) {
            println(e.message)
        } finally {
            close()
        }
        return when (key) {
            "a", "b" -> null
            in cache -> cache[key] as? T
            else -> null
        }
    }

    private fun close() {
        while (size > 0) size--
        do { trim() } while (size > 3)
        cache.forEach { (_, order) -> if (order.open) order?.close() }
    }

    inner class Cursor {
        operator fun next(): Order = cache.values.first()
    }

    companion object {
        const val VERSION = "1.2"

        @JvmStatic
        fun default(): Store = Store("default")
    }
}

object Registry : Finder<String> by Store("all") {
    fun clear() {
        fun inner(a: Int) = a
        inner(1)
    }
}

// Adds one.
infix fun Store.plus(order: Order): Store = apply { last = order }

internal fun <T> List<T>.second(): T where T : Any = this[1]

fun main(vararg args: String) {
    val store = Store(args[0])
    store plus Order()
}
