"""Orders of a shop."""

from __future__ import annotations

import os.path as path
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, overload

from . import store
from .money import Money as Amount

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ITEMS = 100
_CACHE: dict[str, "Order"] = {}
T = TypeVar("T")
type Pair[A] = tuple[A, A]


class State(Enum):
    """What state an order is in."""

    OPEN = "open"
    PAID = "paid"


class Priced(Protocol):
    def price(self) -> Amount: ...


@dataclass(frozen=True)
class Item:
    """One line of an order.

    Attributes:
        name: what it is
    """

    name: str
    count: int = 1
    tags: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What is printed."""
        return f"{self.count} x {self.name}"

    @label.setter
    def label(self, value: str) -> None:
        raise AttributeError(value)

    @classmethod
    def parse(cls, text: str, /, *, sep: str = "x") -> Item:
        count, name = text.split(sep)
        return cls(name.strip(), int(count))

    @staticmethod
    def _check(count):
        assert count > 0, "nothing"


class Order(Generic[T]):
    """Items that are sold together."""

    class Full(Exception):
        """Nothing more fits."""

    def __init__(self, items: list[Item] | None = None, *args: int, limit=MAX_ITEMS, **options: T) -> None:
        self.items = items or []

    def __len__(self):
        return len(self.items)

    @overload
    def add(self, item: Item) -> int: ...
    @overload
    def add(self, item: str, count: int) -> int: ...
    def add(self, item, count=1):
        """Adds an item.

        Args:
            item: what is added
            count: how many

        Returns:
            How many there are now.

        Raises:
            Full: when there are too many
        """
        if len(self) >= MAX_ITEMS and not os.environ.get("FORCE"):
            raise Order.Full
        self.items.append(item)
        return len(self)

    async def pay(self, amount: Amount, retry: bool = False) -> State:
        async with store.open() as connection:
            for _ in range(3):
                try:
                    return await connection.pay(self, amount)
                except OSError:
                    continue
        return State.OPEN

    def __secret(self):
        pass


def total(orders: Iterator[Order]) -> Amount:
    """The sum of all."""

    def price(order: Order) -> Amount:
        return sum(item.count for item in order.items if item)

    return sum(map(price, orders))


def _hidden(): return lambda x: x


if path.exists("orders"):
    def late() -> None:
        """Only sometimes there."""
