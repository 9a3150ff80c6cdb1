//! Source text that is cheap to write and may be expensive to parse: runs of one sign, unclosed and closed nesting, long
//! chains and lists, and unrealistic numbers of definitions or comments.

use docent_syntax::Language;

/// A text that grows with its size.
#[derive(Debug)]
pub(crate) struct HostileShape {
    /// Its name.
    pub name: String,
    /// The start of the text, the part that is repeated, and what closes each repetition at the end.
    parts: [String; 3],
    /// Whether repetitions are indented one column more than the one before.
    indented: bool,
}

impl HostileShape {
    pub(crate) fn new(name: &str, start: &str, repeated: &str, closing: &str) -> Self {
        let parts = [start, repeated, closing].map(str::to_owned);
        Self { name: name.to_owned(), parts, indented: false }
    }

    fn indented(name: &str, repeated: &str) -> Self {
        Self { indented: true, ..Self::new(name, "", repeated, "") }
    }

    /// The same after a line that no grammar can parse.
    fn after_error(&self) -> Self {
        let [start, repeated, closing] = &self.parts;
        let name = format!("{} after an error", self.name);
        Self {
            indented: self.indented,
            ..Self::new(&name, &format!("@;\n{start}"), repeated, closing)
        }
    }

    /// A text of about this many bytes. `%` is replaced by the number of the repetition.
    pub(crate) fn text(&self, bytes: usize) -> String {
        let [start, repeated, closing] = &self.parts;
        let mut text = start.clone();
        let mut count = 0;
        while text.len() + count * closing.len() < bytes {
            if self.indented {
                text.extend(std::iter::repeat_n(' ', count));
            }
            if repeated.contains('%') {
                text.push_str(&repeated.replace('%', &count.to_string()));
            } else {
                text.push_str(repeated);
            }
            count += 1;
        }
        text.extend(std::iter::repeat_n(closing.as_str(), count));
        text
    }
}

/// Runs and nesting that are meaningful in most languages, and must be handled in all.
const COMMON: [(&str, &str, &str); 32] = [
    ("open parentheses", "(", ""),
    ("open brackets", "[", ""),
    ("open braces", "{", ""),
    ("open angles", "<", ""),
    ("closed parentheses", ")", ""),
    ("closed brackets", "]", ""),
    ("closed braces", "}", ""),
    ("closed angles", ">", ""),
    ("nested parentheses", "(", ")"),
    ("nested brackets", "[", "]"),
    ("nested braces", "{", "}"),
    ("nested calls", "f(", ")"),
    ("open calls", "f(a,", ""),
    ("nested indexes", "a[", "]"),
    ("open types", "A<", ""),
    ("double quotes", "\"", ""),
    ("single quotes", "'", ""),
    ("backticks", "`", ""),
    ("strings", "\"a\" ", ""),
    ("dots", "a.", ""),
    ("calls in a chain", ".a()", ""),
    ("commas", "a,", ""),
    ("sums", "a+", ""),
    ("conditions", "a&&b||", ""),
    ("choices", "a?b:", ""),
    ("words", "a ", ""),
    ("one long word", "a", ""),
    ("line breaks", "\n", ""),
    ("spaces", " ", ""),
    ("statements", "a = 1;\n", ""),
    ("block comments", "/*", ""),
    ("line comments", "// a\n", ""),
];

/// Signs that open something in at least one language.
const SIGNS: &str = "!#$%&*-/:;=?@\\^_|~0";

/// Every shape for a language.
pub(crate) fn shapes(language: Language) -> Vec<HostileShape> {
    let common = COMMON.iter().map(|(name, repeated, closing)| {
        let name = if repeated.contains('%') { "percent" } else { name };
        HostileShape::new(name, "", repeated, closing)
    });
    let signs = SIGNS.chars().filter(|sign| *sign != '%');
    let signs =
        signs.map(|sign| HostileShape::new(&format!("sign {sign}"), "", &sign.to_string(), ""));
    let own = own(language);
    // Passes that look at what a grammar can't read have nothing to do without an error.
    let has_passes =
        matches!(language, Language::C | Language::Cpp | Language::Sql | Language::Bash);
    let broken: Vec<HostileShape> =
        own.iter().filter(|_| has_passes).map(HostileShape::after_error).collect();
    common.chain(signs).chain(own).chain(broken).collect()
}

/// What only this language, or its kin, has: nested blocks, definitions, declarations of many names, deep types,
/// strings with code in them.
#[expect(clippy::too_many_lines, reason = "a table")]
fn own(language: Language) -> Vec<HostileShape> {
    use Language as L;
    let table: &[(&str, &str, &str, &str)] = match language {
        L::Python => &[
            ("definitions", "", "def f%(a, b=1):\n    return g(a)\n", ""),
            ("definitions after comments", "", "# says\ndef f%(): pass\n", ""),
            ("names of one statement", "", "a = ", "1"),
            ("nested lambdas", "", "lambda a: ", "1"),
            ("interpolation", "", "f\"{", "}\""),
            ("conditions in a row", "if a: pass\n", "elif b and c: pass\n", ""),
            ("decorators", "", "@a\n", ""),
            ("imports", "", "import a%\n", ""),
            ("names of one import", "from a import b", ", b%", ""),
            ("parameters", "def f(", "a%=1,", ""),
            ("parameters without use", "", "def f%(a, b):\n    g()\n    h(a)\nf%(1)\n", ""),
            (
                "steps",
                "class A:\n",
                "    def a%(self):\n        raise NotImplementedError\n    def b%(self):\n        return c()\n",
                "",
            ),
            ("types in each other", "", "class A%:\n    def f(self):\n        pass\n", ""),
        ],
        L::JavaScript | L::TypeScript | L::Tsx => &[
            ("definitions", "", "function f%(a, b) { return g(a); }\n", ""),
            ("definitions after comments", "", "/** Says. */\nexport const f% = (a) => a;\n", ""),
            ("names of one statement", "let a", ", b% = 1", ""),
            ("nested functions", "", "function f() {", "}"),
            ("nested arrows", "", "(a) => ", "1"),
            ("nested classes", "", "class A { m() {", "}}"),
            ("nested blocks", "", "if (a) {", "}"),
            ("open blocks", "", "while (a) {", ""),
            ("conditions in a row", "if (a) {}", " else if (b) {}", ""),
            ("interpolation", "", "`${", "}`"),
            ("nested types", "type A = ", "Array<", ">"),
            ("elements", "let a = ", "<a>", "</a>"),
            ("regular expressions", "", "/a/", ""),
            ("fields", "class A {", "a% = 1;", ""),
            ("imports", "", "import a% from 'b';\n", ""),
            ("parameters without use", "", "function f%(a, b) { g(); h(a); }\nf%(1);\n", ""),
            ("flags", "function f(a) {", "if (a%) { b(); }\n", ""),
            ("observers", "class A {", "a% = []; on%(f) { this.a%.push(f); } emit%() {}\n", ""),
            ("visitors", "", "class A% { visitA() {} visitB() {} visitC() {} accept() {} }\n", ""),
            (
                "factories",
                "",
                "function make%() { if (a) return new A%(); return new B%(); }\n",
                "",
            ),
            ("wrappers", "class A {", "a% = 1; b%() { return this.a%.b%(); }\n", ""),
        ],
        L::Rust => &[
            ("definitions", "", "/// Says.\npub fn f%(a: u8) -> u8 { g(a) }\n", ""),
            ("nested modules", "", "mod a {", "}"),
            ("nested functions", "", "fn f() {", "}"),
            ("nested blocks", "fn f() {", "if a {", "}"),
            ("nested types", "type A = ", "Vec<", ">"),
            ("nested macros", "", "m!{", "}"),
            ("attributes", "", "#[a]\n", ""),
            ("nested comments", "", "/*", "*/"),
            ("raw strings", "", "r#\"", ""),
            ("fields", "struct A {", "a%: u8,", ""),
            ("methods", "impl A {", "fn f%(&self) {}\n", ""),
            ("imports", "", "use a::{", "};"),
        ],
        L::Go => &[
            ("definitions", "package p\n", "// F says.\nfunc F%(a int) int { return g(a) }\n", ""),
            ("names of one statement", "package p\nvar a", ", b%", ""),
            ("constants of one group", "package p\nconst (\n", "A% = 1\n", ""),
            ("nested blocks", "package p\nfunc f() {", "if a {", "}"),
            ("nested types", "package p\ntype A ", "[]", "int"),
            ("nested functions", "package p\nvar a = ", "func() {", "}"),
        ],
        L::Java | L::CSharp | L::Kotlin | L::Scala | L::Swift | L::Dart | L::Php => &[
            (
                "definitions",
                "class A {\n",
                "/** Says. */ public int f%(int a) { return g(a); }\n",
                "",
            ),
            ("functions", "", "func f%(a: Int) -> Int { return g(a) }\n", ""),
            ("fields of one statement", "class A { int a", ", b% = 1", ""),
            ("nested classes", "", "class A {", "}"),
            ("steps", "abstract class A {", "abstract void a%(); void b%() { c(); }\n", ""),
            ("nested blocks", "class A { void f() {", "if (a) {", "}"),
            ("nested types", "class A { ", "List<", ">"),
            ("annotations", "", "@A(1)\n", ""),
            ("interpolation", "", "\"${", "}\""),
            ("page with code", "<?php ", "function f%($a) { return g($a); }\n", ""),
            ("nested code", "<?php ", "if ($a) {", "}"),
            ("here documents", "", "<<<A\n", ""),
            ("nested comments", "", "/*", "*/"),
        ],
        L::C | L::Cpp => &[
            ("definitions", "", "/** Says. */\nint f%(int a) { return g(a); }\n", ""),
            ("names of one statement", "int a", ", b% = 1", ""),
            ("pointers", "int ", "*", ""),
            ("declarators", "int ", "(*", ")"),
            ("nested blocks", "int f() {", "if (a) {", "}"),
            ("nested structs", "", "struct a {", "};"),
            ("nested namespaces", "", "namespace a {", "}"),
            ("nested types", "", "A<", ">"),
            ("conditions of the preprocessor", "", "#if A\n", "#endif\n"),
            ("macros", "", "#define A% 1\n", ""),
            ("capitals", "", "AAA(", ")"),
            ("capitals as values", "int x = ", "AAA(\n", ")\n"),
            ("conditions in statements", "", "#if A\n} AAA int f() {\n", "#endif\n"),
            ("names of types", "", "class EXPORT A% { };\n", ""),
            ("raw strings", "", "R\"(", ""),
            ("attributes", "", "API AAA int f%(void);\n", ""),
            ("sections", "class A {", "public: int f%();\n", ""),
        ],
        L::Ruby | L::Elixir | L::Lua => &[
            ("definitions", "", "# Says.\ndef f%(a)\n  g(a)\nend\n", ""),
            ("nested modules", "", "module A\n", "end\n"),
            ("nested blocks", "", "if a then\n", "end\n"),
            ("nested functions", "", "function() ", " end"),
            ("local functions", "", "local function f%(a) return g(a) end\n", ""),
            ("clauses", "", "def f(a), do: a\n", ""),
            ("attributes", "", "@doc \"Says.\"\n", ""),
            ("modules", "", "defmodule A do\n", "end\n"),
            ("interpolation", "", "\"#{", "}\""),
            ("here documents", "", "<<A\n", ""),
            ("long strings", "", "[==[", ""),
            ("symbols", "", ":a ", ""),
        ],
        L::Haskell => &[
            ("definitions", "", "f% :: Int -> Int\nf% a = g a\n", ""),
            ("clauses", "", "f 1 = 2\n", ""),
            ("arrows", "f :: ", "a -> ", "a"),
            ("blocks", "f = ", "do\n ", ""),
            ("choices", "f = ", "case a of b -> ", "c"),
            ("nested comments", "", "{-", "-}"),
            ("where", "f = a\n", " where\n", ""),
            ("let", "f = ", "let a = ", "1"),
            ("imports", "", "import A%\n", ""),
        ],
        L::Bash => &[
            ("definitions", "", "# Says.\nf%() {\n  g \"$1\"\n}\n", ""),
            ("nested blocks", "", "if a; then\n", "fi\n"),
            ("substitutions", "", "$(", ")"),
            ("expansions", "", "${a:-", "}"),
            ("here documents", "", "cat <<A\n", ""),
            ("backslashes", "", "a \\\n", ""),
            ("pipes", "a", " | a", ""),
        ],
        L::Sql => &[
            ("definitions", "", "CREATE TABLE a% (b int, c text);\n", ""),
            ("procedures", "", "CREATE PROCEDURE a%(b int)\n", ""),
            ("columns", "CREATE TABLE a (", "b% int,", ""),
            ("nested queries", "", "SELECT (", ")"),
            ("rows", "INSERT INTO a VALUES ", "(1, 'a'),", ""),
            ("choices of cases", "SELECT ", "CASE WHEN a THEN ", "1 END "),
        ],
        L::Zig => &[
            ("definitions", "", "/// Says.\npub fn f%(a: u8) u8 { return g(a); }\n", ""),
            ("nested structs", "", "const A = struct {", "};"),
            ("nested blocks", "fn f() void {", "if (a) {", "}"),
        ],
        L::Json => &[
            ("keys", "{", "\"a%\": 1,", ""),
            ("nested objects", "", "{\"a\":", "}"),
            ("values", "[", "1,", ""),
        ],
        L::Yaml => &[
            ("keys", "", "a%: 1\n", ""),
            ("items", "", "- a\n", ""),
            ("items on one line", "", "- ", ""),
            ("nested mappings on one line", "", "{a: ", "}"),
            ("anchors", "", "&a ", ""),
            ("documents", "", "---\n", ""),
            ("text of many lines", "a: |\n", " b\n", ""),
            ("comments", "", "# a\n", ""),
        ],
        L::Toml | L::Hcl => &[
            ("keys", "", "a% = 1\n", ""),
            ("tables", "", "[a%]\n", ""),
            ("blocks", "", "a \"b%\" {\n}\n", ""),
            ("nested blocks", "", "a {\n", "}\n"),
            ("nested tables", "a = ", "{a = ", "}"),
            ("interpolation", "a = ", "\"${", "}\""),
            ("here documents", "", "a = <<A\n", ""),
            ("comments", "", "# a\n", ""),
        ],
        L::Markdown => &[
            ("headings", "", "# a%\n\ntext\n\n", ""),
            ("underlined headings", "", "a%\n=\n", ""),
            ("quotes", "", "> ", ""),
            ("items on one line", "", "- ", ""),
            ("items", "", "- a\n", ""),
            ("links", "", "[a](", ")"),
            ("fences", "", "```\n", ""),
            ("rows of a table", "|a|\n|-|\n", "|b|\n", ""),
            ("pages", "", "<div>\n", ""),
            ("definitions of links", "", "[a%]: b\n", ""),
        ],
        L::Html => &[
            ("elements", "", "<p id=a%>b</p>\n", ""),
            ("nested elements", "", "<div>", "</div>"),
            ("open elements", "", "<p id=a%>", ""),
            ("closing tags", "", "</p>", ""),
            ("attributes", "<p ", "a%=b ", ""),
            ("comments", "", "<!--", ""),
            ("scripts", "", "<script>", ""),
        ],
        L::Css => &[
            ("rules", "", ".a% { b: c }\n", ""),
            ("nested rules", "", "a {", "}"),
            ("selectors", "", "a% b > c,", ""),
            ("functions", "a { b: ", "c(", ")"),
            ("at rules", "", "@media a {", "}"),
        ],
        L::Proto | L::GraphQl => &[
            ("messages", "", "message A% { string a = 1; }\n", ""),
            ("nested messages", "", "message A {", "}"),
            ("fields", "message A {", "string a% = 1;\n", ""),
            ("types", "", "type A% { a: Int }\n", ""),
            ("lists", "type A { a: ", "[", "]"),
            ("selections", "", "{a", "}"),
            ("descriptions", "", "\"\"\"a\"\"\"\n", ""),
        ],
        L::Dockerfile => &[
            ("steps", "", "RUN a%\n", ""),
            ("stages", "", "FROM a AS b%\n", ""),
            ("lines that go on", "RUN a", " \\\n b", ""),
            ("here documents", "", "RUN <<A\n", ""),
            ("comments", "", "# a\n", ""),
        ],
    };
    let mut all: Vec<HostileShape> = table
        .iter()
        .map(|(name, start, repeated, closing)| HostileShape::new(name, start, repeated, closing))
        .collect();
    match language {
        L::Python => {
            all.push(HostileShape::indented("nested blocks", "if a:\n"));
            all.push(HostileShape::indented("nested definitions", "def f():\n"));
        }
        L::Yaml => {
            all.push(HostileShape::indented("nested keys", "a:\n"));
            all.push(HostileShape::indented("nested items", "- a:\n"));
        }
        L::Markdown => all.push(HostileShape::indented("nested items", "- a\n")),
        L::Haskell => all.push(HostileShape::indented("nested blocks", "do\n")),
        _ => {}
    }
    all
}
