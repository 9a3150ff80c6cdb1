using System;
using System.Collections.Generic;
using static System.Math;
using Json = System.Text.Json;

[assembly: CLSCompliant(true)]

namespace Shop.Orders
{
    /// <summary>Where an order stands.</summary>
    public enum State : byte
    {
        Open,
        [Obsolete("use Done")] Closed = 2,
    }

    /// <summary>Hears of orders.</summary>
    /// <param name="sender">Who says it.</param>
    public delegate void OrderHandler(object sender, EventArgs args);

    interface IStore<T> where T : class
    {
        int Count { get; }
        T Find(string id, bool deep = false);
    }

    /// <summary>
    /// Keeps orders.
    /// </summary>
    /// <remarks>Not for several threads.</remarks>
    [Serializable]
    [DebuggerDisplay("{Count}")]
    public sealed partial class OrderStore : Store, IStore<Order>
    {
        public const int Limit = 10, Least = 1;
        private static readonly TimeSpan Wait = TimeSpan.FromSeconds(1);
        readonly Dictionary<string, Order> orders = new();

        public event OrderHandler Added, Removed;

        public event EventHandler Changed
        {
            add { orders.Clear(); }
            remove { }
        }

        static OrderStore() { }

        /// <summary>Makes a store.</summary>
        public OrderStore(int size) : base(size)
        {
        }

        ~OrderStore() => Dispose();

        /// <summary>How many there are.</summary>
        /// <value>Never negative.</value>
        public int Count { get; private set; } = 0;
        protected internal string Name => "store";
        public Order this[string id] => Find(id);

        /// <summary>Finds an order by its <paramref name="id"/>.</summary>
        /// <param name="id">Its number.</param>
        /// <returns>The order, or <c>null</c>.</returns>
        /// <exception cref="ArgumentException">Where the id is empty.</exception>
        [Pure]
        public Order? Find(string id, bool deep = false)
        {
            if (string.IsNullOrEmpty(id) || id == "0")
                throw new ArgumentException(nameof(id));
            else if (deep)
                return orders.GetValueOrDefault(id) ?? Load(id);
            foreach (var one in orders.Values)
            {
                if (one.Id == id) return one;
            }
            return null;
        }

        internal async Task<List<Order>> LoadAll(params string[] ids)
        {
            var found = new List<Order>();
            for (var at = 0; at < ids.Length; at++)
            {
                try { found.Add(await LoadOne(ids[at])); }
                catch (IOException error) when (error.HResult > 0) { continue; }
                finally { Trim(); }
            }
            return found;

            static void Trim() { }
        }

        public static OrderStore operator +(OrderStore left, Order right) => left;
        public static implicit operator bool(OrderStore store) => store.Count > 0;
        void IDisposable.Dispose() { }
        T Pick<T>(in T first, ref T second, out int which) where T : struct
        {
            which = first switch { null => 0, int n when n > 1 => 1, _ => 2 };
            return which > 0 ? first : second;
        }

        public struct Line { public int Amount; }

        private class Cache
        {
            internal void Clear() => orders?.Clear();
        }
    }

    public record Price(decimal Amount, string Currency = "EUR");
    public readonly record struct Point(int X, int Y);

    public static class Extensions
    {
        public static bool IsOpen(this Order order) => order.State is State.Open and not State.Closed;
    }
}
