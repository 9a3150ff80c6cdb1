//! Cases beyond the samples of the language packs: text that cannot be parsed directly, and definitions split
//! across two places.

use super::*;

#[test]
fn macros_of_c_leave_the_definitions_around_them() {
    let text = "STORE_API int first(void);
EXPORT_SYMBOL(first)
static INLINE char *second(int a) PURE;
int third(int a) {
#ifdef FAST
  if (a) {
#else
  if (!a) {
#endif
    return 1;
  }
  return 2;
}
#define FIELDS(x) x, \\
  x
STORE_API struct table *fourth(int count NONNULL) { return 0; }
int last(void) { return 0; }
";
    let want = [
        "+function first",
        "function second",
        "+function third",
        "+macro FIELDS",
        "+function fourth",
        "+function last",
    ];
    assert_eq!(outline(Language::C, text), want);
    assert_eq!(named(Language::C, text, "first")["returnType"], "int");
    assert_eq!(named(Language::C, text, "fourth")["returnType"], "struct table *");
    assert_eq!(named(Language::C, text, "last")["line"], 17);
}

#[test]
fn macros_of_cpp_leave_the_definitions_around_them() {
    let text = "namespace a {
struct EXPORT Plain { int count; };
class EXPORT Table : public Base {
  Q_OBJECT
 public:
  Table()
#ifdef FAST
      : fast_(1),
#endif
        count_(0) {}
  void lock() LOCKS(mu_) { mu_.lock(); }
 private:
  int count_ GUARDED_BY(mu_) = 0;
  void hidden();
};
}
";
    let want = [
        "+module a",
        "+struct a::Plain",
        "+class a::Table",
        "+method a::Table::Table",
        "+method a::Table::lock",
        "method a::Table::hidden",
    ];
    assert_eq!(outline(Language::Cpp, text), want);
}

#[test]
fn a_definition_knows_what_its_declaration_says() {
    let text = "class A {
  /** Gets it. */
  static int get(int at, int step = 1);
  void get(char *name);
};
int A::get(int at, int step) { return at; }
";
    let get = named(Language::Cpp, text, "get");
    // The declaration with other types is one of its own.
    assert_eq!(outline(Language::Cpp, text), ["+class A", "method A::get", "method A::get"]);
    assert_eq!(get["parameters"][0]["type"], "char *");
    let all = read(Language::Cpp, text);
    let defined = &all.last().unwrap().annotation;
    assert_eq!(defined.description.as_deref(), Some("Gets it."));
    assert_eq!(defined.modifiers, ["static"]);
    assert_eq!(defined.visibility, Visibility::Private);
    let parameters = defined.parameters.as_ref().unwrap();
    assert_eq!(parameters[1].default.as_deref(), Some("1"));
    assert_eq!(defined.line, 6);
}

#[test]
fn types_are_what_stands_around_a_name() {
    let cases = [
        ("int f(const char *name);", json!([{"name": "name", "type": "const char *"}]), "int"),
        ("char **f(int a[2][3]);", json!([{"name": "a", "type": "int [2][3]"}]), "char **"),
        ("void f(int (*then)(int));", json!([{"name": "then", "type": "int (*)(int)"}]), "void"),
        ("const struct a *f(void);", json!([]), "const struct a *"),
        ("int (*f(int a))(char);", json!([{"name": "a", "type": "int"}]), "int (*)(char)"),
        (
            "int f(int, char *);",
            json!([{"name": "_", "type": "int"}, {"name": "_", "type": "char *"}]),
            "int",
        ),
    ];
    for (text, parameters, returns) in cases {
        let found = named(Language::C, text, "f");
        assert_eq!(found["parameters"], parameters, "{text}");
        assert_eq!(found["returnType"], returns, "{text}");
    }
}

#[test]
fn static_hides_in_a_file_and_not_in_a_header() {
    let text = "static inline int f(void) { return 0; }";
    let tree = tree(Language::C, text, &|| false).unwrap();
    let seen = |path: &str| definitions(Language::C, path, text, &tree)[0].annotation.visibility;
    assert_eq!(seen("a.c"), Visibility::Private);
    assert_eq!(seen("include/a.h"), Visibility::Public);
}

#[test]
fn a_namespace_without_braces_holds_the_rest() {
    let cases = [
        (
            Language::CSharp,
            "namespace A.B;\npublic class C { public void F() { } }",
            ["+module A.B", "+class A.B.C", "+method A.B.C.F"],
        ),
        (
            Language::Php,
            "<?php\nnamespace A;\nclass C {}\nnamespace B;\n",
            ["+module A", "+class A\\C", "+module B"],
        ),
        (
            Language::Proto,
            "package a.b;\nmessage C { string d = 1; }\n",
            ["+module a.b", "+struct a.b.C", "+property a.b.C.d"],
        ),
    ];
    for (language, text, want) in cases {
        assert_eq!(outline(language, text), want, "{text}");
    }
}

#[test]
fn names_are_hidden_where_that_is_said() {
    let text = "class A\n  def a; end\n  private :a\nend\nclass B\n  def a; end\nend\n";
    assert_eq!(
        outline(Language::Ruby, text),
        ["+class A", "method A::a", "+class B", "+method B::a"]
    );
}

#[test]
fn what_a_second_one_of_a_name_holds_belongs_to_it() {
    let text = "class A { def b = 1 }\nobject A { def c = 2 }\n";
    let parents: Vec<_> =
        read(Language::Scala, text).into_iter().map(|one| one.annotation.parent).collect();
    let first = Some("class:f:A".to_owned());
    assert_eq!(parents, [None, first, None, Some("class:f:A#2".to_owned())]);
}

#[test]
fn a_class_after_annotations_is_distinguished_from_an_expression() {
    let text = "/** Says. */\n@Target(CLASS)\n@Retention(SOURCE)\nannotation class A\n";
    let found = named(Language::Kotlin, text, "A");
    assert_eq!(found["type"], "interface");
    assert_eq!(found["description"], "Says.");
    assert_eq!(found["decorators"], json!(["@Target(CLASS)", "@Retention(SOURCE)"]));
}

#[test]
fn doxygen_is_read_with_either_mark() {
    for comment in [
        "/** @brief Says.\n * @param a it */",
        "/*! \\brief Says.\n * \\param a it */",
        "/// Says.\n/// \\param a it",
    ] {
        let text = format!("{comment}\nint f(int a);");
        assert_eq!(named(Language::C, &text, "f")["description"], "Says.", "{comment}");
    }
}

#[test]
fn a_path_in_parts_is_read_as_one() {
    let text = "import scala.collection.mutable\nimport java.io.{File, Reader}\n";
    let tree = tree(Language::Scala, text, &|| false).unwrap();
    let found = matches(&tree, Language::Scala.grammar().imports(), tree.root_node(), text);
    let paths: Vec<&str> = found.iter().filter_map(|one| one.text("module", text)).collect();
    assert_eq!(paths, ["scala.collection.mutable", "java.io"]);
}

#[test]
fn deep_nesting_is_survived() {
    for language in [Language::C, Language::Cpp] {
        let deep = format!("int a = {}1{};\nint f(void);", "(".repeat(20_000), ")".repeat(20_000));
        read(language, &deep);
        read(language, &format!("int {}f(void) {{ MACRO(", "*".repeat(20_000)));
        read(language, &"#if A\n{\n".repeat(5_000));
    }
    for language in
        [Language::CSharp, Language::Php, Language::Swift, Language::Kotlin, Language::Scala]
    {
        read(language, &"class A { ".repeat(2_000));
    }
    read(Language::Ruby, &"class A\n".repeat(2_000));
    read(Language::Html, &"<div id='a'>".repeat(2_000));
}
