use super::*;
use crate::language::Language::{self, Go, Java, JavaScript, Python, Rust, TypeScript};

fn read(language: Language, text: &str) -> Vec<Pattern> {
    let tree = parse::tree(language, text, &|| false).unwrap();
    find(&AnalyzedSource { path: "f", language, text, tree: &tree }, &|| false)
}

/// `name confidence lines`.
fn lines(language: Language, text: &str) -> Vec<String> {
    let line = |one: Pattern| {
        let confidence = format!("{:?}", one.confidence).to_lowercase();
        format!("{} {confidence} {:?}", one.name, one.lines)
    };
    read(language, text).into_iter().map(line).collect()
}

/// A text of a number of parts.
fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().concat()
}

/// What is found in each text, and only that.
fn check(cases: &[(Language, &str, &[&str])]) {
    for (language, text, want) in cases {
        assert_eq!(lines(*language, text), *want, "{text}");
    }
}

#[test]
fn every_field_of_a_pattern() {
    let text = "class A { void f() { try { g(); } catch (Exception e) { } } }";
    assert_eq!(
        serde_json::to_value(read(Java, text)).unwrap(),
        serde_json::json!([{
            "name": "empty-catch", "sort": "smell", "confidence": "high", "lines": [1],
            "message": "An error is caught and ignored without an explanation.",
            "fix": "Handle it, log it, or explain in a comment why it can be ignored."
        }])
    );
}

#[test]
fn singletons() {
    check(&[
        (
            Java,
            "class A {\n  private static A instance;\n  private A() {}\n  static A get() { return instance; }\n}",
            &["singleton high [1, 2, 4]"],
        ),
        (
            TypeScript,
            "class A {\n  private static instance: A;\n  static get(): A { return A.instance; }\n}",
            &["singleton medium [1, 2, 3]"],
        ),
        (
            Python,
            "class A:\n    _instance = None\n    def __new__(cls):\n        if cls._instance is None:\n            cls._instance = super().__new__(cls)\n        return cls._instance\n",
            &["singleton high [1, 2, 3]"],
        ),
        // Several of its own that it hands out are constants.
        (
            Java,
            "class A {\n  private static final A COMMA = new A();\n  static A comma() { return COMMA; }\n}",
            &[],
        ),
        (
            Python,
            "class A:\n    def __init__(self, instance):\n        self.instance = instance\n",
            &[],
        ),
    ]);
}

#[test]
fn builders() {
    check(&[
        (
            Java,
            "class B {\n  B a(int x) { this.x = x; return this; }\n  B b(int y) { this.y = y; return this; }\n  A build() { return new A(x, y); }\n}",
            &["builder high [1, 2, 3, 4]"],
        ),
        (
            Rust,
            "struct B { x: u8 }\nimpl B {\n  fn a(mut self) -> Self { self.x = 1; self }\n  fn b(mut self) -> Self {\n    self.x = 2;\n    self\n  }\n  fn build(self) -> A { A(self.x) }\n}",
            &["builder high [1, 3, 4, 8]"],
        ),
        (
            Go,
            "package p\ntype B struct { x int }\nfunc (b *B) A() *B {\n\tb.x = 1\n\treturn b\n}\nfunc (b *B) C() *B {\n\tb.x = 2\n\treturn b\n}\nfunc (b *B) Build() A { return A{b.x} }",
            &["builder high [2, 3, 7, 11]"],
        ),
        (
            JavaScript,
            "class Q {\n  a() { return this; }\n  b() { return this; }\n  c() { return this; }\n  d() { return this; }\n}",
            &["fluent-interface medium [1, 2, 3, 4]"],
        ),
        // Methods that make something else, and one that builds.
        (
            JavaScript,
            "class Q {\n  a() { return this.x; }\n  b() { return 1; }\n  build() { return 2; }\n}",
            &[],
        ),
        (JavaScript, "class Q {\n  a() { return this; }\n  b() { return this; }\n}", &[]),
    ]);
}

#[test]
fn observers() {
    check(&[
        (
            Python,
            "class S:\n    def __init__(self):\n        self.all = []\n    def subscribe(self, f):\n        self.all.append(f)\n    def notify(self, x):\n        for f in self.all:\n            f(x)\n",
            &["observer high [1, 3, 4, 6]"],
        ),
        (
            TypeScript,
            "class S {\n  private all: F[] = [];\n  on(f: F) { this.all.push(f); }\n  emit(x: X) { this.all.forEach((f) => f(x)); }\n}",
            &["observer high [1, 2, 3, 4]"],
        ),
        // Notifies another list than the one subscribed to.
        (
            Python,
            "class S:\n    def __init__(self):\n        self.all = []\n        self.other = []\n    def subscribe(self, f):\n        self.all.append(f)\n    def notify(self, x):\n        for f in self.other:\n            f(x)\n",
            &[],
        ),
    ]);
}

#[test]
fn wrappers() {
    let methods = "  public int a() { return inner.a(); }\n  public int b() { return inner.b(); }\n  public int c() { return inner.c(); }\n}";
    let decorator = format!("class W implements Port {{\n  private final Port inner;\n{methods}");
    let adapter =
        format!("class OldAdapter implements Port {{\n  private final Old inner;\n{methods}");
    let wrapper = format!("class W {{\n  private final Old inner;\n{methods}");
    check(&[
        (Java, &decorator, &["decorator high [1, 2, 3, 4, 5]"]),
        (Java, &adapter, &["adapter medium [1, 2, 3, 4, 5]"]),
        (Java, &wrapper, &["wrapper medium [1, 2, 3, 4, 5]"]),
        (
            Java,
            "class W {\n  private Old inner;\n  int a() { return inner.x(); }\n  int b() { return other.inner.b(); }\n  int c() { return 1; }\n}",
            &[],
        ),
    ]);
}

#[test]
fn iterators_visitors_and_context_managers() {
    check(&[
        (
            Python,
            "class I:\n    def __iter__(self): return self\n    def __next__(self): return 1\n",
            &["iterator high [1, 2, 3]"],
        ),
        (
            Rust,
            "struct I;\nimpl Iterator for I {\n  type Item = u8;\n  fn next(&mut self) -> Option<u8> { None }\n}",
            &["iterator high [1, 4]"],
        ),
        (Python, "class I:\n    def __iter__(self): return iter(self.x)\n", &[]),
        (Rust, "struct I;\nimpl I {\n  fn next(&mut self) -> Option<u8> { None }\n}", &[]),
        (
            Java,
            "interface V {\n  void visitA(A a);\n  void visitB(B b);\n  void visitC(C c);\n}\nclass A {\n  void accept(V v) { v.visitA(this); }\n}",
            &["visitor high [1, 2, 3, 4, 7]"],
        ),
        (
            Python,
            "class V:\n    def visit_a(self, n): pass\n    def visit_b(self, n): pass\n    def visit_c(self, n): pass\n",
            &["visitor medium [1, 2, 3, 4]"],
        ),
        (
            Python,
            "class V:\n    def visit(self, n): pass\n    def visitors(self): pass\n    def visit_a(self): pass\n",
            &[],
        ),
        (
            Python,
            "class C:\n    def __enter__(self): return self\n    def __exit__(self, *e): self.x()\n",
            &["context-manager high [1, 2, 3]"],
        ),
        (Python, "class C:\n    def __enter__(self): return self\n", &[]),
        (
            Rust,
            "struct G;\nimpl Drop for G {\n  fn drop(&mut self) { x(); }\n}",
            &["raii high [1]"],
        ),
        (Rust, "struct G;\nimpl G {\n  fn drop(&mut self) { x(); }\n}", &[]),
    ]);
}

#[test]
fn strategies_and_states() {
    check(&[
        (
            TypeScript,
            "interface Sort { run(x: number[]): void }\nclass Quick implements Sort { run(x: number[]) {} }\nclass Merge implements Sort { run(x: number[]) {} }\nclass List {\n  private sort: Sort;\n}",
            &["strategy high [1, 5, 2, 3]"],
        ),
        (
            Rust,
            "trait DoorState { fn push(&self); }\nstruct Open;\nimpl DoorState for Open { fn push(&self) {} }\nstruct Shut;\nimpl DoorState for Shut { fn push(&self) {} }\nstruct Door {\n  state: Box<dyn DoorState>,\n}",
            &["state high [1, 7, 2, 4]"],
        ),
        // No type holds one.
        (
            TypeScript,
            "interface Sort { run(x: number[]): void }\nclass Quick implements Sort { run(x: number[]) {} }\nclass Merge implements Sort { run(x: number[]) {} }",
            &[],
        ),
        // One way to do it is not a choice.
        (
            TypeScript,
            "interface Sort { run(x: number[]): void }\nclass Quick implements Sort { run(x: number[]) {} }\nclass List {\n  private sort: Sort;\n}",
            &[],
        ),
    ]);
}

#[test]
fn template_methods_and_factories() {
    check(&[
        (
            Python,
            "class A:\n    def run(self):\n        self.open()\n        self.shut()\n    def open(self):\n        raise NotImplementedError\n    def shut(self):\n        raise NotImplementedError\nclass B(A):\n    def open(self): return 1\n",
            &["template-method high [2, 5, 7]"],
        ),
        (
            Java,
            "abstract class A {\n  void run() { open(); }\n  abstract void open();\n}\nclass B extends A { void open() { } }",
            &["template-method medium [2, 3]"],
        ),
        (
            Python,
            "class A:\n    def run(self):\n        self.open()\n    def open(self):\n        return 1\n",
            &[],
        ),
        (
            Python,
            "class Ab: pass\nclass Cd: pass\ndef make(x):\n    if x:\n        return Ab(1)\n    return Cd(2)\n",
            &["factory-method high [3, 5, 6]"],
        ),
        (
            TypeScript,
            "export function createShape(x: string): Shape {\n  switch (x) {\n    case 'a': return new Circle();\n    default: return new Square();\n  }\n}",
            &["factory-method medium [1, 3, 4]"],
        ),
        (Python, "def make(x):\n    if x:\n        return Ab(1)\n    return Ab(2)\n", &[]),
        (Python, "def view(x):\n    if x:\n        return Page(1)\n    return Redirect(2)\n", &[]),
    ]);
}

#[test]
fn injection_options_and_decorator_functions() {
    check(&[
        (
            TypeScript,
            "@Injectable()\nclass A {\n  constructor(private readonly users: UserService) {}\n}",
            &["dependency-injection high [3]"],
        ),
        (
            Java,
            "class A {\n  A(UserRepository users, Clock clock) { this.users = users; this.clock = clock; }\n}",
            &["dependency-injection medium [2]"],
        ),
        (
            Java,
            "class A {\n  A(String name, int times) { this.name = name; this.times = times; }\n}",
            &[],
        ),
        (Java, "class A {\n  A(UserRepository users, Clock clock) { users.load(clock); }\n}", &[]),
        (
            Go,
            "package p\ntype Option func(*S)\nfunc WithA(a int) Option {\n\treturn func(s *S) { s.a = a }\n}\nfunc WithB(b int) Option {\n\treturn func(s *S) { s.b = b }\n}\nfunc New(all ...Option) *S { return nil }",
            &["functional-options high [3, 6, 9]"],
        ),
        (Go, "package p\nfunc WithA(a int) Option {\n\treturn func(s *S) { s.a = a }\n}", &[]),
        (
            Python,
            "def timed(f):\n    @wraps(f)\n    def inner(*args):\n        return f(*args)\n    return inner\n",
            &["decorator-function high [1, 3]"],
        ),
        (Python, "def adder(n):\n    def add(x):\n        return x + n\n    return add\n", &[]),
        (
            Python,
            "def adder(f):\n    def add(x):\n        return other_f(x)\n    return add\n",
            &[],
        ),
    ]);
}

#[test]
fn long_and_deep_functions() {
    let body = |lines: usize, line: &str| format!("def f():\n{}", line.repeat(lines));
    let long = body(80, "    a.b += 1\n");
    let short = body(79, "    a.b += 1\n");
    let branches = each(41, |at| format!("    if a{at} > 1:\n        x.y += {at}\n"));
    let hard = format!("def f():\n{branches}");
    let returns = each(7, |at| format!("    if a{at} and b:\n        if c: return {at}\n"));
    let many_returns = format!("def f():\n{returns}");
    let calm = each(7, |at| format!("    if a{at}: return {at}\n"));
    let calm = format!("def f():\n{calm}");
    let closures =
        format!("function f() {{ {} }}", "g(() => { if (a && b) { return 1; } });".repeat(9));
    check(&[
        (Python, &long, &["long-function low [1, 81]"]),
        (Python, &short, &[]),
        (Python, &hard, &["long-function medium [1, 83]"]),
        (Python, &many_returns, &["many-returns medium [1, 3, 5, 7, 9, 11, 13, 15]"]),
        (Python, &calm, &[]),
        // The returns of functions inside are theirs.
        (JavaScript, &closures, &[]),
        (
            JavaScript,
            "function f() {\n if (a) {\n for (;;) {\n while (b) {\n if (c) {\n if (d) {}\n}}}}}",
            &["deep-nesting medium [1, 6]"],
        ),
        (JavaScript, "function f() {\n if (a) {\n for (;;) {\n while (b) {\n if (c) {}\n}}}}", &[]),
        (
            Go,
            "package p\nfunc f(a, b, c, d, e, f, g int) { x() }",
            &["long-parameter-list medium [2]"],
        ),
        (Go, "package p\nfunc f(a, b, c, d, e, f int) { x() }", &[]),
        (
            Python,
            "def f(a, b=1, c=2, d=3, e=4, f=5, g=6): return 1\n",
            &["long-parameter-list low [1]"],
        ),
        (
            Java,
            "class A { @Override void f(int a, int b, int c, int d, int e, int f, int g) { } }",
            &[],
        ),
    ]);
}

#[test]
fn flags_and_dead_parameters() {
    let two = "    if fast:\n        a()\n        b()\n        c()\n    else:\n        d()\n        e()\n";
    let flag = format!("def f(x, fast=False):\n{two}");
    let value = format!("def f(x, fast):\n{two}");
    let small_part = format!("{flag}{}", "    g()\n".repeat(5));
    let chain = flag.replace("else:", "elif y:");
    check(&[
        (Python, &flag, &["flag-argument medium [1, 2]"]),
        (Python, &value, &[]),
        (Python, &small_part, &[]),
        (Python, &chain, &[]),
        (
            TypeScript,
            "function f(on: boolean) {\n  if (!on) {\n    a();\n    b();\n    d();\n  } else {\n    c();\n  }\n}\nf(true);",
            &["flag-argument medium [1, 2]"],
        ),
        (
            Python,
            "def _f(a, b):\n    x = a\n    return x\n_f(1, 2)\n",
            &["dead-parameter medium [1]"],
        ),
        (
            Java,
            "class A { private void f(int a) { x(); y(); } void g() { f(1); } }",
            &["dead-parameter medium [1]"],
        ),
        // Passed as a value, so that its signature is dictated.
        (Python, "def _f(a, b):\n    x = a\n    return x\n_f(1, 2)\nrun(_f)\n", &[]),
        // Holds the place of the next.
        (Python, "def _f(a, b):\n    x = b\n    return x\n_f(1, 2)\n", &[]),
        (Python, "def f(a, b):\n    x = a\n    return x\nf(1, 2)\n", &[]),
        (Rust, "fn f(a: u8, b: u8) {\n  let x = a;\n  print(\"{b}\");\n}\nfn g() { f(1, 2) }", &[]),
    ]);
}

#[test]
fn god_and_data_classes() {
    let fields = each(10, |at| format!("  private int f{at};\n"));
    let method =
        |at: usize| format!("  void m{at}() {{\n{}  }}\n", format!("    f{at}();\n").repeat(20));
    let methods = each(25, method);
    let fewer = each(24, method);
    let constants = fields.replace("private", "private static final");
    let god = format!("class A {{\n{fields}{methods}}}");
    let not_so = format!("class A {{\n{fields}{fewer}}}");
    let constants = format!("class A {{\n{constants}{methods}}}");
    let access = "  private int a;\n  private int b;\n  private int c;\n  int getA() { return a; }\n  void setA(int a) { this.a = a; }\n  int getB() { return b; }\n  void setB(int b) { this.b = b; }\n";
    let data = format!("class A {{\n{access}}}");
    let does = format!("class A {{\n{access}  int sum() {{ return a + b; }}\n}}");
    check(&[
        (Java, &god, &["god-class medium [1, 562]"]),
        (Java, &not_so, &[]),
        (Java, &constants, &[]),
        (Java, &data, &["data-class medium [1]"]),
        (Java, &does, &[]),
    ]);
}

#[test]
fn empty_catches_and_long_conditions() {
    check(&[
        (Python, "try:\n    f()\nexcept Exception:\n    pass\n", &["empty-catch high [3]"]),
        (Python, "try:\n    f()\nexcept KeyError:\n    pass\n", &[]),
        (Python, "try:\n    f()\nexcept Exception:\n    # None there.\n    pass\n", &[]),
        (JavaScript, "try { f(); } catch (e) { }", &["empty-catch medium [1]"]),
        (JavaScript, "try { f(); } catch { }", &["empty-catch low [1]"]),
        (JavaScript, "try { f(); } catch (_e) { }", &[]),
        (JavaScript, "try { f(); } catch (e) { /* closed already */ }", &[]),
        (JavaScript, "try { f(); } catch (e) { g(e); }", &[]),
        (Java, "class A { void f() { try { g(); } catch (IOException ignored) { } } }", &[]),
        (JavaScript, "if (a && b || c && d || e && f) { g(); }", &["long-condition medium [1]"]),
        (JavaScript, "if (a && b && c && d && e && f) { g(); }", &[]),
        (JavaScript, "x = a && b || c && d || e && f;", &[]),
        (
            Python,
            "if (a and b or c and d or not e and f):\n    g()\n",
            &["long-condition medium [1]"],
        ),
    ]);
}

#[test]
fn duplicated_blocks() {
    let block = each(6, |at| format!("    table.put(key{at}, value.of({at}), other);\n"));
    let twice = format!("function f() {{\n{block}}}\nfunction g() {{\n  // A note.\n{block}}}\n");
    let thrice = format!("{twice}function h() {{\n{block}}}\n");
    let five: String = block.split_inclusive('\n').take(5).collect();
    let short = format!("function f() {{\n{five}}}\nfunction g() {{\n{five}}}\n");
    let renamed = format!(
        "function f() {{\n{block}}}\nfunction g() {{\n{}}}\n",
        block.replace("other", "another")
    );
    let loose = format!("{block}{block}");
    let small = "    a;\n".repeat(12);
    let small = format!("function f() {{\n{small}}}\n");
    check(&[
        (JavaScript, &twice, &["duplicated-block medium [2, 11]"]),
        (JavaScript, &thrice, &["duplicated-block medium [2, 11, 19]"]),
        (JavaScript, &short, &[]),
        (JavaScript, &renamed, &[]),
        // Outside of functions, lists repeat themselves by nature.
        (JavaScript, &loose, &[]),
        (JavaScript, &small, &[]),
    ]);
    let much = format!("function f() {{\n{}}}\n", block.repeat(2_000));
    assert_eq!(lines(JavaScript, &much).len(), 2, "one block, and a long function");
    let even = format!("function f() {{\n{}}}\n", "  table.put(key, value);\n".repeat(20_000));
    assert_eq!(lines(JavaScript, &even), ["long-function low [1, 20002]"]);
}

#[test]
fn remarks() {
    check(&[
        (Rust, "// TODO: later\nfn f() {}\n// Now FIXME: this\n", &["todo-markers high [1, 3]"]),
        (Python, "# TODO(me) later\n", &["todo-markers high [1]"]),
        (Python, "# The TODO list of a user.\nTODO = 1\n# TODOs are kept.\n", &[]),
        (JavaScript, "// const a = f(1);\n// g(a);\nh();\n", &["commented-out-code medium [1, 2]"]),
        (Python, "# if a:\n#     b = 1\n#     c(b)\n", &["commented-out-code medium [1, 3]"]),
        (
            Go,
            "package p\nfunc f() {\n\t//a := g()\n\t//h(a)\n}\n",
            &["commented-out-code medium [3, 4]"],
        ),
        (Java, "class A { /*\n  int a = 1;\n  f(a);\n*/ }", &[]),
        (
            Java,
            "class A {\n  /*\n  int a = 1;\n  f(a);\n  */\n}",
            &["commented-out-code medium [2, 5]"],
        ),
        (Python, "# Opens the file (if there is one),\n# and reads it: all of it.\n", &[]),
        (Python, "# a = 1\n", &[]),
        (Rust, "/// let a = f(1);\n/// g(a);\nfn h() {}\n", &[]),
    ]);
}

#[test]
fn generated_files_have_no_smells() {
    let smell = "try { f(); } catch (e) { }\n";
    let packed = format!("{smell}{}", "a();".repeat(2_000));
    check(&[
        (JavaScript, &format!("// Code generated by x. DO NOT EDIT.\n{smell}"), &[]),
        (JavaScript, &packed, &[]),
    ]);
}
