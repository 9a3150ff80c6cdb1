/** A place in the building where books stand in order. */
export interface Shelf {
  floor: number;
  section: string;
  books: string[];
}

/** How well a shelf is kept. */
export enum ShelfState {
  Tidy,
  Mixed,
  Unknown,
}

/** Finds the shelf on which a book belongs, by its title. */
export function findShelf(shelves: Shelf[], title: string): Shelf | undefined {
  return shelves.find((shelf) => shelf.books.includes(title));
}

/** Tells whether the books of a shelf stand in alphabetical order. */
export function stateOf(shelf: Shelf): ShelfState {
  if (shelf.books.length === 0) {
    return ShelfState.Unknown;
  }
  const ordered = [...shelf.books].sort();
  return ordered.every((title, place) => title === shelf.books[place]) ? ShelfState.Tidy : ShelfState.Mixed;
}
