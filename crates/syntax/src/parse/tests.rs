mod packs;

use super::*;
use serde_json::{Value, json};

fn read(language: Language, text: &str) -> Vec<LocatedDefinition> {
    let tree = tree(language, text, &|| false).unwrap();
    definitions(language, "f", text, &tree)
}

/// `kind qualified.name`, with `+` before what is exported.
fn outline(language: Language, text: &str) -> Vec<String> {
    let line = |one: LocatedDefinition| {
        let Annotation { kind, qualified_name, exported, .. } = one.annotation;
        format!("{}{} {qualified_name}", if exported { "+" } else { "" }, kind.singular())
    };
    read(language, text).into_iter().map(line).collect()
}

fn named(language: Language, text: &str, name: &str) -> Value {
    let all = read(language, text);
    let one = all.into_iter().find(|one| one.annotation.name == name).unwrap();
    serde_json::to_value(one.annotation).unwrap()
}

#[test]
fn every_field_of_a_function() {
    let text = "/** Retrieves user by ID\n * @param id which */\nexport async function getUserById(id: string, again?: number, ...rest: A[]): Promise<User> {\n  return x;\n}\n";
    assert_eq!(
        named(Language::TypeScript, text, "getUserById"),
        json!({
            "id": "function:f:getUserById",
            "type": "function",
            "name": "getUserById",
            "qualifiedName": "getUserById",
            "signature": "async function getUserById(id: string, again?: number, ...rest: A[]): Promise<User>",
            "parameters": [
                {"name": "id", "type": "string"},
                {"name": "again", "type": "number", "optional": true},
                {"name": "...rest", "type": "A[]"}
            ],
            "returnType": "Promise<User>",
            "modifiers": ["async"],
            "visibility": "public",
            "description": "Retrieves user by ID",
            "doc": {"summary": "Retrieves user by ID", "params": [{"name": "id", "text": "which"}]},
            "line": 3,
            "endLine": 5,
            "exported": true
        })
    );
}

#[test]
fn what_is_not_there_is_left_out() {
    assert_eq!(
        named(Language::JavaScript, "const f = x => x;\n", "f"),
        json!({
            "id": "function:f:f", "type": "function", "name": "f", "qualifiedName": "f", "signature": "const f = x",
            "parameters": [{"name": "x"}], "visibility": "private", "line": 1, "endLine": 1, "exported": false
        })
    );
    assert_eq!(
        named(Language::TypeScript, "interface A { b: string }", "A"),
        json!({
            "id": "interface:f:A", "type": "interface", "name": "A", "qualifiedName": "A", "signature": "interface A",
            "visibility": "private", "line": 1, "endLine": 1, "exported": false
        })
    );
}

#[test]
fn typescript_is_outlined() {
    let text = r#"
import { a } from "./a";
export const LIMIT = 5, other = () => 1;
let loose = 3;
function f(a: number): void;
function f(a: string): void;
function f(a: any) { const inner = 1; function nested() {} }
export default class Shop extends Base {
  #secret() {}
  private hidden() {}
  constructor(private readonly x: number) { super(); }
  handle = (e: Event): void => {};
  get total(): number { return 1; }
}
abstract class Shape { abstract area(): number; }
interface Port { open(a: string): boolean; size: number }
type Id = string | number;
enum Role { Admin }
namespace Inner { export function deep() {} function kept() {} }
class Late {}
export { Late as Later };
"#;
    let want = [
        "+constant LIMIT",
        "+function other",
        "function f",
        "function f.nested",
        "+class Shop",
        "method Shop.#secret",
        "method Shop.hidden",
        "+method Shop.constructor",
        "+method Shop.handle",
        "+method Shop.total",
        "class Shape",
        "method Shape.area",
        "interface Port",
        "method Port.open",
        "type Id",
        "enum Role",
        "module Inner",
        "+function Inner.deep",
        "function Inner.kept",
        "+class Late",
    ];
    assert_eq!(outline(Language::TypeScript, text), want);
    assert_eq!(outline(Language::Tsx, text), want);
}

#[test]
fn javascript_is_outlined() {
    let text = "
const api = { open() {}, close: () => 1 };
function* many() {}
class A { static b() {} c = () => 1 }
module.exports = { api, many };
describe('x', () => { const hidden = () => 1; });
";
    let want = [
        "+constant api",
        "+method api.open",
        "+function many",
        "class A",
        "method A.b",
        "method A.c",
    ];
    assert_eq!(outline(Language::JavaScript, text), want);
}

#[test]
fn python_is_outlined() {
    let text = r#"
import os
LIMIT: int = 5
lower = 2
type Pair = tuple[int, int]
@decorated
async def fetch(url: str, *args, timeout: float = 1.0, **more) -> bytes:
    """Fetches.

        indented
    End.
    """
    LOCAL = 1
    def inner(): ...
class _Hidden(Base):
    def visible(self, a, /, b=2, *, c): pass
class Colour(enum.Enum):
    RED = 1
class Readable(Protocol):
    @classmethod
    def read(cls) -> str: ...
    def __len__(self): ...
    def _own(self): ...
"#;
    let want = [
        "+constant LIMIT",
        "+type Pair",
        "+function fetch",
        "function fetch.inner",
        "class _Hidden",
        "method _Hidden.visible",
        "+enum Colour",
        "+interface Readable",
        "+method Readable.read",
        "+method Readable.__len__",
        "method Readable._own",
    ];
    assert_eq!(outline(Language::Python, text), want);
    let fetch = named(Language::Python, text, "fetch");
    assert_eq!(
        fetch["signature"],
        "async def fetch(url: str, *args, timeout: float = 1.0, **more) -> bytes"
    );
    assert_eq!(
        fetch["parameters"],
        json!([{"name": "url", "type": "str"}, {"name": "*args"}, {"name": "timeout", "type": "float", "default": "1.0", "optional": true}, {"name": "**more"}])
    );
    assert_eq!(fetch["returnType"], "bytes");
    assert_eq!(fetch["description"], "Fetches.\n\n    indented\nEnd.");
    assert_eq!(fetch["line"], 7);
    let visible = named(Language::Python, text, "visible");
    assert_eq!(
        visible["parameters"],
        json!([{"name": "a"}, {"name": "b", "default": "2", "optional": true}, {"name": "c"}])
    );
    assert_eq!(named(Language::Python, text, "read")["parameters"], json!([]));
}

#[test]
fn rust_is_outlined() {
    let text = r"
/// Counts.
///
/// All of it.
#[must_use]
// A note between.
pub fn count<T: Ord>(&self, items: &[T], (a, b): (u8, u8)) -> usize { const INNER: u8 = 1; 0 }
pub(crate) struct Table<T>(T);
pub enum Kind { A }
pub trait Shape { fn area(&self) -> f64; fn name(&self) -> String { String::new() } }
impl<T> Table<T> { pub fn new() -> Self { todo!() } fn own(self) {} pub const SIZE: u8 = 1; }
impl Shape for Kind { fn area(&self) -> f64 { 1.0 } type Out = u8; }
pub type Id = u32;
static GLOBAL: u8 = 0;
mod tests { pub fn inside() {} }
union Either { a: u8 }
";
    let want = [
        "+function count",
        "struct Table",
        "+enum Kind",
        "+trait Shape",
        "+method Shape::area",
        "+method Shape::name",
        "+method Table::new",
        "method Table::own",
        "+constant Table::SIZE",
        "+method Kind::area",
        "+type Id",
        "constant GLOBAL",
        "module tests",
        "function tests::inside",
        "struct Either",
    ];
    assert_eq!(outline(Language::Rust, text), want);
    let count = named(Language::Rust, text, "count");
    assert_eq!(count["description"], "Counts.\n\nAll of it.");
    assert_eq!(
        count["parameters"],
        json!([{"name": "items", "type": "&[T]"}, {"name": "(a, b)", "type": "(u8, u8)"}])
    );
    assert_eq!(count["returnType"], "usize");
    assert_eq!(
        count["signature"],
        "pub fn count<T: Ord>(&self, items: &[T], (a, b): (u8, u8)) -> usize"
    );
}

#[test]
fn go_is_outlined() {
    let text = r#"
// Package shop sells things.
package shop

import "fmt"

// Limit is how many.
const Limit = 5

const (
	// First is first.
	First = iota
	second // trailing
	third
	_
)

var ErrGone, errOther = errors.New("gone"), 1

// Table holds rows.
//
// It grows.
//
//go:generate stringer
type Table[K comparable] struct {
	rows map[K]string
}

type (
	// Shape has an area.
	Shape interface {
		// Area is in metres.
		Area(unit string) (float64, error)
		hidden()
	}
	id = int
)

// A note that stands apart.

func loose() {}

/* Get finds a row. */
func (t *Table[K]) Get(key K, more ...string) (row string, ok bool) {
	const local = 1
	return "", false
}

func (t table) Put(a, b int, _ func(int) error) error { return nil }

func New(int, string) *Table[int] { return nil }
"#;
    let want = [
        "+constant Limit",
        "+constant First",
        "constant second",
        "constant third",
        "+constant ErrGone",
        "constant errOther",
        "+struct Table",
        "+interface Shape",
        "+method Shape.Area",
        "method Shape.hidden",
        "type id",
        "function loose",
        "+method Table.Get",
        "method table.Put",
        "+function New",
    ];
    assert_eq!(outline(Language::Go, text), want);
    let said = |name: &str| named(Language::Go, text, name)["description"].clone();
    assert_eq!(said("Limit"), "Limit is how many.");
    assert_eq!(said("First"), "First is first.");
    for silent in ["second", "third", "loose", "Put"] {
        assert_eq!(said(silent), Value::Null, "{silent}");
    }
    assert_eq!(said("Table"), "Table holds rows.\n\nIt grows.");
    assert_eq!(said("Shape"), "Shape has an area.");
    assert_eq!(said("Area"), "Area is in metres.");
    let get = named(Language::Go, text, "Get");
    assert_eq!(get["description"], "Get finds a row.");
    assert_eq!(
        get["signature"],
        "func (t *Table[K]) Get(key K, more ...string) (row string, ok bool)"
    );
    assert_eq!(
        get["parameters"],
        json!([{"name": "key", "type": "K"}, {"name": "more", "type": "...string"}])
    );
    assert_eq!(get["returnType"], "(row string, ok bool)");
    assert_eq!(
        named(Language::Go, text, "Put")["parameters"],
        json!([{"name": "a", "type": "int"}, {"name": "b", "type": "int"}, {"name": "_", "type": "func(int) error"}])
    );
    assert_eq!(
        named(Language::Go, text, "New")["parameters"],
        json!([{"name": "_", "type": "int"}, {"name": "_", "type": "string"}])
    );
    assert_eq!(named(Language::Go, text, "Table")["signature"], "type Table[K comparable] struct");
    assert_eq!(
        named(Language::Go, text, "Area")["signature"],
        "Area(unit string) (float64, error)"
    );
}

#[test]
fn java_is_outlined() {
    let text = r#"
package org.shop;

import java.util.List;

/**
 * Holds {@code rows} of a {@link Shop}.
 *
 * <p>It grows.
 *
 * @param <K> of the keys
 */
@SuppressWarnings("unchecked")
public final class Table<K> extends Base implements Shape {
    public static final int LIMIT = 5, OTHER = 6;
    private static final String NAME = "a";
    private int rows;

    /** Makes one. */
    public Table(final int rows) { this.rows = rows; }

    /**
     * Finds a row.
     * @return it
     */
    @Override
    public <T extends List<K>> T get(K key, String... more) throws Gone { return null; }

    public T get(int at) { return null; }
    abstract void area();
    void area(int unit) { Runnable r = new Runnable() { public void run() {} }; }

    enum Colour { RED, GREEN }
    public record Point(int x, int y) { public Point { } }
}

interface Shape { int SIDES = 4; double area(String unit,
    int times); private void own() {} }
@interface Marked { String value() default ""; }
"#;
    let want = [
        "+class Table",
        "+constant Table.LIMIT",
        "+constant Table.OTHER",
        "constant Table.NAME",
        "+method Table.Table",
        "+method Table.get",
        "+method Table.get",
        "method Table.area",
        "method Table.area",
        "method Table.area.run",
        "enum Table.Colour",
        "+class Table.Point",
        "+method Table.Point.Point",
        "interface Shape",
        "constant Shape.SIDES",
        "method Shape.area",
        "method Shape.own",
        "interface Marked",
        "method Marked.value",
    ];
    assert_eq!(outline(Language::Java, text), want);
    let table = named(Language::Java, text, "Table");
    assert_eq!(table["description"], "Holds rows of a Shop.\n\nIt grows.");
    assert_eq!(table["signature"], "public final class Table<K> extends Base implements Shape");
    assert_eq!(table["line"], 14);
    let get = named(Language::Java, text, "get");
    assert_eq!(get["description"], "Finds a row.");
    assert_eq!(
        get["signature"],
        "public <T extends List<K>> T get(K key, String... more) throws Gone"
    );
    assert_eq!(
        get["parameters"],
        json!([{"name": "key", "type": "K"}, {"name": "more", "type": "String..."}])
    );
    assert_eq!(get["returnType"], "T");
    let ids = read(Language::Java, text).into_iter().map(|one| one.annotation.id);
    assert!(ids.collect::<Vec<_>>().contains(&"method:f:Table.get#2".to_owned()));
    let mut all = read(Language::Java, text).into_iter().map(|one| one.annotation);
    let area = all.find(|one| one.qualified_name == "Shape.area").unwrap();
    assert_eq!(area.signature, "double area(String unit, int times)");
}

#[test]
fn ids_outlive_edits_elsewhere() {
    let before = "def f(): pass\nclass A:\n    def f(self): pass\n";
    let after = "import os\n\ndef g(): pass\n\n\ndef f(): return 1\nclass A:\n    x = 1\n    def f(self): pass\n";
    let ids = |text| {
        read(Language::Python, text).into_iter().map(|one| one.annotation.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(before), ["function:f:f", "class:f:A", "method:f:A.f"]);
    for id in ids(before) {
        assert!(ids(after).contains(&id), "{id}");
    }
    assert_eq!(ids("def f(): pass\ndef f(): pass\n"), ["function:f:f", "function:f:f#2"]);
}

#[test]
fn a_syntax_error_leaves_the_rest() {
    let cases = [
        (Language::TypeScript, "function ok() {}\nclass { ] \nfunction also() {}\n", Some(2)),
        (Language::Python, "def ok():\n    pass\ndef (:\n", Some(3)),
        (Language::Rust, "fn ok() {}\n", None),
        (Language::Rust, "", None),
    ];
    for (language, text, want) in cases {
        assert_eq!(first_error(&tree(language, text, &|| false).unwrap()), want, "{text}");
        assert!(
            text.is_empty()
                || outline(language, text).iter().any(|line| line.contains("function ok")),
            "{text}"
        );
    }
}

#[test]
fn deep_nesting_and_odd_bytes_are_survived() {
    let deep = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
    read(Language::JavaScript, &deep);
    read(Language::Python, &"if x:\n ".repeat(2_000));
    read(Language::Rust, "fn \u{0}ü() { \u{fffd} }");
    let long = format!("const a = \"{}\";", "ü".repeat(400_000));
    let only = read(Language::JavaScript, &long).pop().unwrap();
    assert!(only.annotation.signature.len() < 310 && only.annotation.signature.ends_with('…'));
}

#[test]
fn a_stop_is_heard_while_parsing() {
    let text = "const a = [1, 2, 3];\n".repeat(200_000);
    assert!(matches!(tree(Language::JavaScript, &text, &|| true), Err(ParseError::Stopped)));
}
