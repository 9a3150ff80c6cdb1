//! Expanding variables and inserting secrets.

use docent_registry::{
    EntryTransport, McpServerEntry, SecretFile, SecretUse, expand, with_secrets,
};
use std::io;

fn lookup(name: &str) -> Option<String> {
    let known = [
        ("KEY", "k"),
        ("EMPTY", ""),
        ("BREAK", "a\nb"),
        ("input:id", "answer"),
        ("userHome", "/home/me"),
    ];
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

#[test]
fn a_template_is_filled_or_a_problem_names_what_is_missing() {
    let check = |template: &str, expected: Result<&str, &str>| {
        let server = McpServerEntry::program("s", "x", &[template]);
        let found = expand(&server, &lookup).map(|server| match server.way {
            EntryTransport::Program { args, .. } => args.join(" "),
            EntryTransport::Remote { .. } => String::new(),
        });
        let found = found.map_err(|problems| {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{template}");
    };
    check("a ${KEY} ${env:KEY} $KEY", Ok("a k k $KEY"));
    check("${NONE:-d}${KEY:-d}${EMPTY:-d}${NONE:-}", Ok("dkd"));
    check("${EMPTY}", Ok(""));
    check("$${KEY} pa$$word ${", Ok("${KEY} pa$$word ${"));
    check("${input:id}${userHome}", Ok("answer/home/me"));
    check(
        "${NONE}",
        Err(
            "\"s\", `args`: the variable NONE is not set; set NONE, or write a default: ${NONE:-…}",
        ),
    );
    check(
        "${input:no}",
        Err(
            "\"s\", `args`: an editor asks its user for \"no\", which docent does not do; write a variable such as ${env:NAME} instead of ${input:no}",
        ),
    );
    check(
        "${workspaceFolder}",
        Err(
            "\"s\", `args`: only an editor knows ${workspaceFolder}; write the path or the value itself",
        ),
    );
}

#[test]
fn a_value_can_not_start_another_header() {
    let mut server = McpServerEntry::remote("s", "https://example.com/${KEY}", None);
    if let EntryTransport::Remote { headers, .. } = &mut server.way {
        headers.insert("X".to_owned(), "${BREAK}".to_owned());
        headers.insert("a b".to_owned(), "c".to_owned());
    }
    let problems = expand(&server, &lookup).unwrap_err();
    let fields: Vec<_> = problems.iter().map(|problem| problem.field.clone().unwrap()).collect();
    assert_eq!(fields, ["headers.X", "headers.a b"]);
}

#[test]
fn variables_are_handed_on_where_they_are_set() {
    let mut server = McpServerEntry::program("s", "x", &[]);
    if let EntryTransport::Program { inherit, .. } = &mut server.way {
        inherit.extend(["KEY".to_owned(), "NONE".to_owned()]);
    }
    let full = expand(&server, &lookup).unwrap();
    let EntryTransport::Program { env, inherit, .. } = full.way else { panic!("no program") };
    assert!(inherit.is_empty());
    assert_eq!(env.into_iter().collect::<Vec<_>>(), [("KEY".to_owned(), "k".to_owned())]);
}

fn read(path: &str) -> io::Result<String> {
    match path {
        "/run/k" => Ok("secret\r\n".to_owned()),
        "/run/empty" => Ok("\n".to_owned()),
        "/run/two" => Ok("a\nb\n".to_owned()),
        ".env" => {
            Ok("# c\nexport A=1\nB = \"two words\" # c\nC='x' \nD=e # f\nOWN=file\n\n".to_owned())
        }
        ".bad" => Ok("what\n".to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

#[test]
fn secrets_go_where_they_belong() {
    let secret = |goes: SecretUse, path: &str| SecretFile { goes, path: path.to_owned() };
    let mut server = McpServerEntry::remote("s", "https://example.com/", None);
    server.secrets.push(secret(SecretUse::Bearer, "/run/${KEY}"));
    let server = expand(&server, &lookup).unwrap();
    let full = with_secrets(&server, &read).unwrap();
    let EntryTransport::Remote { headers, .. } = &full.way else { panic!("{full:?}") };
    assert_eq!(headers.get("Authorization").unwrap(), "Bearer secret");
    assert!(full.secrets.is_empty());
    for path in ["/run/empty", "/run/two", "/run/none"] {
        let mut server = McpServerEntry::program("s", "x", &[]);
        server.secrets.push(secret(SecretUse::Variable("A".to_owned()), path));
        let problems = with_secrets(&server, &read).unwrap_err();
        assert!(problems.first().unwrap().to_string().contains(path), "{problems:?}");
    }
}

#[test]
fn a_file_of_variables_gives_way_to_the_entry() {
    let mut server = McpServerEntry::program("s", "x", &[]);
    server.env_file = Some(".env".to_owned());
    if let EntryTransport::Program { env, .. } = &mut server.way {
        env.insert("OWN".to_owned(), "entry".to_owned());
    }
    let full = with_secrets(&server, &read).unwrap();
    let EntryTransport::Program { env, .. } = full.way else { panic!("no program") };
    let env: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["OWN=entry", "A=1", "B=two words", "C=x", "D=e"]);
    server.env_file = Some(".bad".to_owned());
    assert!(with_secrets(&server, &read).is_err());
}
