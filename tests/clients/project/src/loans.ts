import { findShelf, type Shelf } from "./shelves";

/** A book that a reader has taken home. */
export interface Loan {
  title: string;
  reader: string;
  dueOn: Date;
}

const DAYS_OF_LOAN = 28;

/** Lends a book to a reader for four weeks, and takes it off its shelf. */
export function lendBook(shelves: Shelf[], title: string, reader: string, today: Date): Loan {
  const shelf = findShelf(shelves, title);
  if (!shelf) {
    throw new Error(`"${title}" is on no shelf`);
  }
  shelf.books = shelf.books.filter((other) => other !== title);
  const dueOn = new Date(today);
  dueOn.setDate(dueOn.getDate() + DAYS_OF_LOAN);
  return { title, reader, dueOn };
}

/** Works out the fee for a book that comes back late: ten cents for every day. */
export function lateFee(loan: Loan, returnedOn: Date): number {
  const days = Math.floor((returnedOn.getTime() - loan.dueOn.getTime()) / 86_400_000);
  return days > 0 ? days * 0.1 : 0;
}
