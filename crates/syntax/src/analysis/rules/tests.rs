use super::*;
use crate::parse;

fn found(language: Language, analysis: Analysis, text: &str) -> Vec<Finding> {
    let tree = parse::tree(language, text, &|| false).unwrap();
    check(&Source { path: "f", language, text, tree: &tree }, analysis, &|| false)
}

/// Each rule with a text that it must find and one that it must leave alone.
const CASES: &[(Language, Analysis, &str, &str, &str)] = {
    use Analysis::{Patterns, Security};
    use Language::{Go, Java, JavaScript, Python, Rust, TypeScript};
    &[
        (JavaScript, Security, "eval", "eval(x)", "evaluate(x)"),
        (JavaScript, Security, "function-constructor", "new Function('a', b)", "new Foo()"),
        (
            JavaScript,
            Security,
            "inner-html",
            "el.innerHTML = name + '!'",
            "el.innerHTML = ''; el.text = a",
        ),
        (JavaScript, Security, "document-write", "document.write(x)", "file.write(x)"),
        (
            JavaScript,
            Security,
            "shell-command-built",
            "cp.exec(`ls ${dir}`)",
            "cp.exec('ls'); re.exec(text)",
        ),
        (
            JavaScript,
            Security,
            "sql-built",
            "db.query('SELECT * FROM t WHERE a=' + a)",
            "db.query('SELECT 1', [a]); m.get('a' + b)",
        ),
        (
            JavaScript,
            Security,
            "hard-coded-secret",
            "const apiKey = 'sk-1234567890'",
            "const apiKey = 'your-key-here'; const tokenName = 'abcdefghij'",
        ),
        (
            JavaScript,
            Security,
            "weak-hash",
            "crypto.createHash('md5')",
            "crypto.createHash('sha256')",
        ),
        (
            JavaScript,
            Security,
            "tls-unchecked",
            "f({rejectUnauthorized: false})",
            "f({rejectUnauthorized: true})",
        ),
        (
            JavaScript,
            Patterns,
            "empty-catch",
            "try { a() } catch (e) { }",
            "try { a() } catch (e) { log(e) }",
        ),
        (JavaScript, Patterns, "loose-equality", "if (a == 1) {}", "if (a == null || a === 1) {}"),
        (JavaScript, Patterns, "var", "var a = 1", "let a = 1"),
        (JavaScript, Patterns, "left-behind", "// TODO: more", "// todolist"),
        (
            JavaScript,
            Patterns,
            "singleton",
            "class A { static getInstance() {} }",
            "class A { getInstance() {} }",
        ),
        (
            JavaScript,
            Patterns,
            "factory",
            "function createUser() { return new User() }",
            "function createUser() { save() }",
        ),
        (TypeScript, Security, "eval", "eval(x)", "evaluate(x)"),
        (
            TypeScript,
            Security,
            "hard-coded-secret",
            "const o = { password: 'hunter2hunter2' }",
            "const o = { password: pw }",
        ),
        (TypeScript, Patterns, "any", "let a: any", "let a: unknown"),
        (TypeScript, Patterns, "non-null-assertion", "a!.b()", "a?.b()"),
        (Python, Security, "eval", "exec(code)", "model.eval()"),
        (
            Python,
            Security,
            "shell-true",
            "subprocess.run(cmd, shell=True)",
            "subprocess.run(cmd, shell=False)",
        ),
        (Python, Security, "os-system", "os.system(cmd)", "os.path(cmd)"),
        (Python, Security, "unsafe-deserialisation", "pickle.loads(data)", "json.loads(data)"),
        (Python, Security, "yaml-load", "yaml.load(f)", "yaml.load(f, Loader=yaml.SafeLoader)"),
        (
            Python,
            Security,
            "sql-built",
            "c.execute(f\"SELECT * FROM t WHERE a={a}\")",
            "c.execute('SELECT 1 WHERE a=%s', (a,))",
        ),
        (
            Python,
            Security,
            "sql-built",
            "c.execute('DELETE FROM t WHERE a=%s' % a)",
            "c.execute(query)",
        ),
        (
            Python,
            Security,
            "sql-built",
            "c.execute('SELECT {}'.format(a))",
            "c.execute('hello' + a)",
        ),
        (
            Python,
            Security,
            "hard-coded-secret",
            "PASSWORD = 'hunter2hunter2'",
            "PASSWORD = os.environ['P']",
        ),
        (Python, Security, "weak-hash", "hashlib.md5(b)", "hashlib.md5(b, usedforsecurity=False)"),
        (Python, Security, "tls-unchecked", "requests.get(u, verify=False)", "requests.get(u)"),
        (Python, Security, "mktemp", "tempfile.mktemp()", "tempfile.mkstemp()"),
        (
            Python,
            Patterns,
            "bare-except",
            "try:\n  a()\nexcept:\n  b()\n",
            "try:\n  a()\nexcept E:\n  b()\n",
        ),
        (
            Python,
            Patterns,
            "silent-except",
            "try:\n  a()\nexcept E:\n  pass\n",
            "try:\n  a()\nexcept E:\n  log()\n",
        ),
        (Python, Patterns, "mutable-default", "def f(a=[]): pass", "def f(a=()): pass"),
        (Python, Patterns, "none-equality", "a == None", "a is None"),
        (Python, Patterns, "wildcard-import", "from a import *", "from a import b"),
        (Python, Patterns, "global", "def f():\n  global a\n", "def f():\n  a = 1\n"),
        (Python, Patterns, "left-behind", "# FIXME", "# fixed"),
        (
            Python,
            Patterns,
            "context-manager",
            "class A:\n  def __enter__(self): pass\n",
            "class A:\n  def enter(self): pass\n",
        ),
        (
            Python,
            Patterns,
            "dataclass",
            "@dataclass\nclass A:\n  a: int\n",
            "@other\nclass A:\n  a: int\n",
        ),
        (Rust, Security, "unsafe-block", "fn f() { unsafe { g() } }", "fn f() { g() }"),
        (Rust, Security, "unsafe-function", "unsafe fn f() {}", "async fn f() {}"),
        (
            Rust,
            Security,
            "transmute",
            "fn f() { std::mem::transmute::<u8, i8>(1) }",
            "fn f() { retransmute(1) }",
        ),
        (Rust, Security, "static-mut", "static mut A: u8 = 1;", "static A: u8 = 1;"),
        (
            Rust,
            Security,
            "shell-command",
            "fn f() { Command::new(\"sh\"); }",
            "fn f() { Command::new(\"ls\"); }",
        ),
        (
            Rust,
            Security,
            "sql-built",
            "fn f() { format!(\"SELECT * FROM t WHERE a={a}\"); }",
            "fn f() { format!(\"hello {a}\"); }",
        ),
        (
            Rust,
            Security,
            "hard-coded-secret",
            "const API_KEY: &str = \"sk-1234567890\";",
            "const API_KEY: &str = \"<set me>\";",
        ),
        (
            Rust,
            Security,
            "tls-unchecked",
            "fn f() { b.danger_accept_invalid_certs(true); }",
            "fn f() { b.danger_accept_invalid_certs(false); }",
        ),
        (Rust, Patterns, "unwrap", "fn f() { a().unwrap(); }", "fn f() { a().unwrap_or(1); }"),
        (Rust, Patterns, "unfinished", "fn f() { todo!() }", "fn f() { println!() }"),
        (Rust, Patterns, "left-behind", "// XXX later", "// later"),
        (
            Rust,
            Patterns,
            "builder",
            "impl B { fn a(mut self) -> Self { self } }",
            "impl B { fn a(&self) -> u8 { 1 } }",
        ),
        (
            Rust,
            Patterns,
            "guard",
            "impl Drop for A { fn drop(&mut self) {} }",
            "impl Copy for A {}",
        ),
        (
            Go,
            Security,
            "unsafe-pointer",
            "package p\nfunc f() { _ = unsafe.Pointer(&a) }",
            "package p\nfunc f() { _ = unsafe.Sizeof(a) }",
        ),
        (
            Go,
            Security,
            "shell-command",
            "package p\nfunc f() { exec.Command(\"sh\", \"-c\", a) }",
            "package p\nfunc f() { exec.Command(\"ls\", a) }",
        ),
        (
            Go,
            Security,
            "sql-built",
            "package p\nfunc f() { _ = fmt.Sprintf(\"SELECT * FROM t WHERE a=%s\", a) }",
            "package p\nfunc f() { _ = fmt.Sprintf(\"hello %s\", a) }",
        ),
        (
            Go,
            Security,
            "hard-coded-secret",
            "package p\nconst apiKey = \"sk-1234567890\"",
            "package p\nconst apiKey = \"your-key-here\"",
        ),
        (
            Go,
            Security,
            "weak-hash",
            "package p\nfunc f() { h := md5.New() }",
            "package p\nfunc f() { h := sha256.New() }",
        ),
        (
            Go,
            Security,
            "tls-unchecked",
            "package p\nfunc f() { _ = tls.Config{InsecureSkipVerify: true} }",
            "package p\nfunc f() { _ = tls.Config{InsecureSkipVerify: false} }",
        ),
        (
            Go,
            Patterns,
            "panic",
            "package p\nfunc f() { panic(\"no\") }",
            "package p\nfunc f() { recover() }",
        ),
        (Go, Patterns, "left-behind", "package p\n// TODO: more", "package p\n// done"),
        (
            Java,
            Security,
            "shell-command-built",
            "class A { void f() { Runtime.getRuntime().exec(\"ls \" + a); } }",
            "class A { void f() { Runtime.getRuntime().exec(a); } }",
        ),
        (
            Java,
            Security,
            "sql-built",
            "class A { void f() { s.executeQuery(\"SELECT * FROM t WHERE a=\" + a); } }",
            "class A { void f() { s.executeQuery(\"SELECT 1\"); } }",
        ),
        (
            Java,
            Security,
            "unsafe-deserialisation",
            "class A { void f() { Object o = in.readObject(); } }",
            "class A { void f() { Object o = in.readObject(Foo.class); } }",
        ),
        (
            Java,
            Security,
            "hard-coded-secret",
            "class A { void f() { String password = \"hunter2hunter2\"; } }",
            "class A { void f() { String password = \"example-word\"; } }",
        ),
        (
            Java,
            Security,
            "weak-hash",
            "class A { void f() { MessageDigest.getInstance(\"MD5\"); } }",
            "class A { void f() { MessageDigest.getInstance(\"SHA-256\"); } }",
        ),
        (
            Java,
            Patterns,
            "empty-catch",
            "class A { void f() { try { } catch (E e) { } } }",
            "class A { void f() { try { } catch (E e) { g(); } } }",
        ),
        (
            Java,
            Patterns,
            "print-stack-trace",
            "class A { void f() { e.printStackTrace(); } }",
            "class A { void f() { e.getStackTrace(); } }",
        ),
        (Java, Patterns, "left-behind", "// FIXME later\nclass A { }", "// fixed\nclass A { }"),
        (
            Java,
            Patterns,
            "singleton",
            "class A { public static A getInstance() { return a; } }",
            "class A { A getInstance() { return a; } }",
        ),
    ]
};

#[test]
fn every_rule_finds_what_it_is_for() {
    for (language, analysis, rule, bad, good) in CASES {
        let of_rule = |text| {
            found(*language, *analysis, text).into_iter().filter(|one| one.rule == *rule).count()
        };
        assert_eq!(of_rule(bad), 1, "{language:?} {rule}: {bad}");
        assert_eq!(of_rule(good), 0, "{language:?} {rule}: {good}");
    }
}

#[test]
fn every_rule_has_a_case() {
    for language in
        [Language::JavaScript, Language::Python, Language::Rust, Language::Go, Language::Java]
    {
        for (rule, _) in rules(language) {
            assert!(
                CASES.iter().any(|case| case.0 == language && case.2 == rule.id),
                "{language:?} {}",
                rule.id
            );
        }
    }
}

#[test]
fn every_field_of_a_finding() {
    let all = found(
        Language::Python,
        Analysis::Security,
        "\n\nAPI_KEY = 'sk-1234567890'\neval(x)\nhashlib.md5(b)\n",
    );
    assert_eq!(
        all[0],
        Finding {
            rule: "hard-coded-secret".into(),
            category: "secrets".into(),
            severity: Severity::High,
            line: 3,
            message: "a secret stands in the source".into(),
            evidence: "API_KEY = '…'".into(),
            fix: "read it from the environment or a secret store, and replace the one that was published".into(),
        }
    );
    let order: Vec<_> = all.iter().map(|one| (one.rule.as_str(), one.line)).collect();
    assert_eq!(order, [("hard-coded-secret", 3), ("eval", 4), ("weak-hash", 5)]);
}
