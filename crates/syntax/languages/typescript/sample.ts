import { EventEmitter } from "node:events";
import type { Store } from "./store.js";

/** How often a job is tried. */
export const MAX_TRIES = 3;
const registry = new Map<string, Job>();
let running = 0;

/** What a job is called with. */
export interface JobOptions<T = unknown> {
  /** Its name. */
  name: string;
  payload?: T;
  /** Runs it. */
  run(signal: AbortSignal, ...rest: unknown[]): Promise<void>;
  readonly done: () => void;
}

export type JobState = "waiting" | "running" | "done";

export enum Priority {
  Low,
  High = 10,
}

declare const BUILD: string;
declare function trace(message: string): void;
declare module "legacy" {
  export function start(port: number): void;
}

function Injectable(options?: { scope: string }) {
  return (target: Function) => target;
}

/**
 * Runs jobs one after another.
 *
 * @typeParam T what a job carries
 */
@Injectable({ scope: "request" })
export abstract class Queue<T> extends EventEmitter {
  static readonly limit: number = 100;
  #jobs: JobOptions<T>[] = [];
  private handler = (event: Event): void => {
    console.log(event.type);
  };

  constructor(
    private readonly store: Store,
    protected limit = 10,
    @Inject("clock") now?: () => number,
  ) {
    super();
  }

  /** How many wait. */
  get size(): number {
    return this.#jobs.length;
  }

  set paused(value: boolean) {}

  static of<T>(this: void, ...jobs: JobOptions<T>[]): Queue<T> | undefined {
    return undefined;
  }

  push(job: JobOptions<T>): number;
  push(job: JobOptions<T>, priority: Priority): number;
  /**
   * Puts a job at the end.
   * @param job what is done
   * @param priority how soon
   * @returns its place
   * @deprecated use `add`
   */
  @logged
  public async push(job: JobOptions<T>, priority: Priority = Priority.Low): Promise<number> {
    if (this.size > this.limit && priority === Priority.Low) {
      throw new RangeError("full");
    }
    this.#jobs.push(job);
    return this.size;
  }

  protected abstract next(): JobOptions<T> | undefined;

  *[Symbol.iterator]() {
    yield* this.#jobs;
  }

  #clear(): void {
    this.#jobs = [];
  }
}

export namespace Format {
  export function job({ name, payload }: JobOptions, [first, second] = ["(", ")"]): string {
    return `${first}${name}${second}${payload ?? ""}`;
  }
  const hidden = 1;
}

/** Says whether it is done. */
export const isDone = async (state: JobState): Promise<boolean> => state === "done";

export default function* ids(from = 0): Generator<number> {
  function step(by: number) {
    return by + 1;
  }
  while (true) yield (from = step(from));
}

const single = name => name.length;
export { single as lengthOf, registry };
