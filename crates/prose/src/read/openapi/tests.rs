use super::*;

fn text(api: &str) -> String {
    read("a.yaml", api).unwrap().markdown(&|_| None)
}

#[test]
fn cycles_are_survived() {
    let api = "openapi: 3.0.0
info: {title: T, version: 1}
components:
  schemas:
    A: {$ref: '#/components/schemas/B'}
    B: {$ref: '#/components/schemas/A'}
    C: {type: object, properties: {c: {$ref: '#/components/schemas/C'}}}
    D: {allOf: [{$ref: '#/components/schemas/D'}, {$ref: '#/nowhere'}, {$ref: 'other.yaml#/X'}]}
    E: {type: array, items: {type: array, items: {$ref: '#/components/schemas/E'}}}
";
    let text = text(api);
    assert!(text.contains("### C\n\n- `c` (C)\n\n### D\n\nD and nowhere and X"), "{text}");
    assert!(text.contains("### E\n\narray of array of E"), "{text}");
}

#[test]
fn outlines_are_bounded() {
    let many =
        (0..500).map(|n| format!("        p{n}: {{type: string}}\n")).collect::<Vec<_>>().concat();
    let api = format!(
        "openapi: 3.0.0\ninfo: {{title: T}}\ncomponents:\n  schemas:\n    A:\n      properties:\n{many}"
    );
    let text = text(&api);
    assert!(text.contains("- `p59` (string)\n- …") && !text.contains("p60"), "{text}");
    // Choices within choices, each referring to all others.
    let all: Vec<String> = (0..20).map(|n| format!("{{$ref: '#/definitions/S{n}'}}")).collect();
    let schemas = (0..20)
        .map(|n| format!("  S{n}: {{oneOf: [{}]}}\n", all.join(", ")))
        .collect::<Vec<_>>()
        .concat();
    read("a", &format!("swagger: '2.0'\ninfo: {{}}\ndefinitions:\n{schemas}")).unwrap();
}

#[test]
fn versions_are_kept_as_written() {
    let cases = [
        ("info: {title: T, version: '1.10'}", Some("1.10")),
        ("info:\n  version: 1.10 # c\n  title: T", Some("1.10")),
        ("info:\n  title: T", None),
        ("{\"info\": {\"version\": \"v2\"}}", Some("v2")),
    ];
    for (api, want) in cases {
        assert_eq!(read("a", api).unwrap().version.as_deref(), want, "{api}");
    }
}

#[test]
fn a_file_that_is_not_a_description_is_reported() {
    let deep_json = "{\"a\":".repeat(100_000);
    let deep_flow = "[".repeat(100_000);
    let deep_block =
        (0..2000).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<Vec<_>>().concat();
    let bomb: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain(
            (1..12)
                .map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))),
        )
        .collect();
    for api in
        ["a: [", "text", "[]", "{}", "openapi: 3.0.0", &deep_json, &deep_flow, &deep_block, &bomb]
    {
        let read = read("a", api);
        assert!(matches!(read, Err(Unreadable::Damaged { .. })), "{api:.40}: {read:?}");
    }
}
