-- Orders of a shop.
CREATE SCHEMA IF NOT EXISTS shop;

-- What state an order is in.
CREATE TYPE shop.order_state AS ENUM ('open', 'paid', 'sent');

-- Everybody who ever ordered.
-- Kept for ten years.
CREATE TABLE IF NOT EXISTS shop.customers (
    id bigint PRIMARY KEY,
    -- How to reach them.
    email text NOT NULL UNIQUE,
    name varchar(100) DEFAULT 'unknown',
    created_at timestamp with time zone DEFAULT now()
);

/* Orders, one a row. */
CREATE TABLE shop.orders (
    id bigint PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES shop.customers (id),
    total numeric(10, 2) NOT NULL,
    CONSTRAINT positive CHECK (total >= 0)
);

CREATE UNIQUE INDEX orders_by_customer ON shop.orders (customer_id);

-- Customers with what they spent.
CREATE OR REPLACE VIEW shop.spending AS
SELECT c.id, c.name, sum(o.total) AS spent
FROM shop.customers c
LEFT JOIN shop.orders o ON o.customer_id = c.id
GROUP BY c.id, c.name;

CREATE MATERIALIZED VIEW best_customers AS
SELECT id, name FROM shop.spending WHERE spent > 1000 AND name IS NOT NULL;

-- Adds tax to an amount.
CREATE FUNCTION shop.with_tax(amount numeric, rate numeric DEFAULT 0.19)
RETURNS numeric
LANGUAGE sql
IMMUTABLE
AS $$
    SELECT CASE WHEN amount > 0 THEN round(amount * (1 + rate), 2) ELSE 0 END
$$;

CREATE OR REPLACE FUNCTION touch() RETURNS trigger AS $body$
BEGIN
    RETURN NEW;
END;
$body$ LANGUAGE plpgsql;

CREATE TRIGGER orders_touch BEFORE UPDATE ON shop.orders
FOR EACH ROW EXECUTE FUNCTION touch();

CREATE SEQUENCE invoice_numbers START 1000;

INSERT INTO shop.customers (id, email) VALUES (1, lower('A@EXAMPLE.COM'));
SELECT count(*) FROM shop.orders;
