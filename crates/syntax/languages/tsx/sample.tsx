import * as React from "react";
import { useState, type ReactNode } from "react";

/** What a card shows. */
interface CardProps {
  title: string;
  children?: ReactNode;
  onClose?(reason: "escape" | "click"): void;
}

/** The colours there are. */
export type Colour = "red" | "green";

const COLOURS: Record<Colour, string> = { red: "#f00", green: "#0f0" };

/**
 * A box with a title.
 *
 * Closes when it is clicked.
 */
export function Card({ title, children, onClose }: CardProps): JSX.Element {
  const [open, setOpen] = useState(true);

  function close() {
    setOpen(false);
    onClose?.("click");
  }

  return open ? (
    <section onClick={close}>
      <h2>{title}</h2>
      {children}
    </section>
  ) : (
    <></>
  );
}

/** Kept between renders. */
export const Badge = React.memo(function Badge({ colour = "red" }: { colour?: Colour }) {
  return <span style={{ color: COLOURS[colour] }} />;
});

export const Row = <T,>(props: { items: T[]; render: (item: T) => ReactNode }) => (
  <>{props.items.map((item) => props.render(item))}</>
);

export default class Page extends React.Component<CardProps, { count: number }> {
  static defaultProps = { title: "Page" };
  state = { count: 0 };

  private increase = () => this.setState(({ count }) => ({ count: count + 1 }));

  override componentDidMount(): void {
    if (this.props.title && this.state.count === 0) {
      this.increase();
    }
  }

  render() {
    return <Card title={this.props.title} onClose={this.increase} />;
  }
}

export function useCount(start = 0): [number, () => void] {
  const [count, set] = useState(start);
  return [count, () => set(count + 1)];
}
