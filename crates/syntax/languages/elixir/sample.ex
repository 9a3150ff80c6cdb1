defmodule Shop.Stock do
  @moduledoc """
  What is in the warehouse.

  Counts are kept by a process.
  """

  use GenServer
  import Ecto.Query, only: [from: 2]
  alias Shop.{Item, Order}
  alias Shop.Store, as: Store
  require Logger

  @behaviour Shop.Counter

  @typedoc "A number of things."
  @type count :: non_neg_integer()
  @typep state :: %{String.t() => count}
  @opaque handle :: pid()

  @limit 1_000

  defstruct items: %{}, limit: @limit

  @doc "Takes a count, or says why not."
  @callback take(String.t(), count) :: :ok | {:error, term}

  @doc """
  Starts it.

  ## Examples

      iex> Shop.Stock.start_link()
  """
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(options \\ []) do
    GenServer.start_link(__MODULE__, options, name: __MODULE__)
  end

  @doc "How many there are."
  @doc since: "1.2.0"
  @spec count(handle, String.t()) :: count
  def count(server, name) when is_binary(name), do: GenServer.call(server, {:count, name})

  @doc false
  def child_spec(arg), do: %{id: arg}

  @impl true
  def init(options) do
    items = Keyword.get(options, :items, %{})

    if map_size(items) > @limit and not Keyword.has_key?(options, :force) do
      {:stop, :full}
    else
      {:ok, %__MODULE__{items: items}}
    end
  end

  @impl GenServer
  def handle_call({:count, name}, _from, %{items: items} = state) do
    case Map.fetch(items, name) do
      {:ok, count} -> {:reply, count, state}
      :error -> {:reply, 0, state}
    end
  end

  def handle_call(:all, _from, state), do: {:reply, state.items, state}

  # Tells who is interested.
  defp notify(name, count) do
    items = from(i in Item, where: i.name == ^name)

    items
    |> Store.all()
    |> Enum.each(fn item -> Logger.info("#{item.name}: #{count}") end)
  rescue
    error in RuntimeError -> Logger.error(error.message)
  end

  @doc "Counts down while the body holds."
  defmacro counted(name, do: body) do
    quote do
      unquote(body)
      unquote(name)
    end
  end

  defguard is_low(count) when is_integer(count) and count < 10

  defdelegate total(order), to: Order

  def left - right, do: Map.drop(left, Map.keys(right))

  defmodule Full do
    @moduledoc "Nothing more fits."
    defexception message: "full"
  end
end

defprotocol Shop.Priced do
  @doc "What it costs."
  @spec price(t) :: integer
  def price(thing)
end

defimpl Shop.Priced, for: Shop.Item do
  def price(%{cents: cents}), do: cents
end
