//! Registry files: every reader, and adding docent to each file and removing it again.
#![no_main]

use docent_registry::{
    ConfigFormat, EntryTransport, McpClient, McpServerEntry, expand, read, read_tables,
    with_secrets, with_server, with_table, without_server, without_table,
};
use libfuzzer_sys::fuzz_target;
use std::{io, path::Path, sync::LazyLock};

/// The entries that are added: a plain one, and one with characters to escape.
static SERVERS: LazyLock<[McpServerEntry; 2]> = LazyLock::new(|| {
    let mut odd =
        McpServerEntry::program("d: #\"1", "/opt/do cent", &["serve", "\u{85}\u{feff}\n\\\"$", ""]);
    if let EntryTransport::Program { env, .. } = &mut odd.way {
        env.insert("A B".to_owned(), "true".to_owned());
    }
    [McpServerEntry::program("docent", "docent", &["serve"]), odd]
});

fuzz_target!(|data: &[u8]| {
    let file = Path::new("file");
    let forms = McpClient::ALL
        .into_iter()
        .map(ConfigFormat::Client)
        .chain([ConfigFormat::Block, ConfigFormat::Registry]);
    for form in forms {
        let reading = read(form, file, data);
        for problem in &reading.problems {
            assert!(
                problem.file.as_deref() == Some(file) && !problem.remedy.is_empty(),
                "{problem}"
            );
        }
        reading.servers.iter().for_each(used);
    }
    if let Ok(value) = serde_json::from_slice(data) {
        read_tables(file, &value).servers.iter().for_each(used);
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    for client in McpClient::ALL {
        for server in SERVERS.iter() {
            edited(client, text, server);
        }
    }
    for server in SERVERS.iter() {
        let Ok(edited) = with_table(Some(text), server, true) else { continue };
        assert!(with_table(Some(&edited.text), server, false).is_ok_and(|again| !again.changed));
        if let Ok(out) = without_table(&edited.text, &server.name) {
            assert!(without_table(&out.text, &server.name).is_ok_and(|again| !again.changed));
        }
    }
});

/// Checks that a parsed server can be used or has an error.
fn used(server: &McpServerEntry) {
    assert!(!server.summary().is_empty());
    server.needs();
    if let Err(problems) = expand(server, &|_| None) {
        assert!(!problems.is_empty());
    }
    if let Ok(full) = expand(server, &|name| Some(name.to_owned()))
        && let Err(problems) = with_secrets(&full, &|path| {
            if path.len() % 2 == 0 {
                Ok(path.to_owned())
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        })
    {
        assert!(!problems.is_empty());
    }
}

fn edited(client: McpClient, text: &str, server: &McpServerEntry) {
    let name = &server.name;
    let Ok(edited) = with_server(client, Some(text), name, server, true) else { return };
    let reading = read(ConfigFormat::Client(client), Path::new("file"), edited.text.as_bytes());
    let found = reading.servers.iter().find(|found| found.name == *name && found.project.is_none());
    assert_eq!(found.map(|found| &found.way), Some(&server.way), "{client}: {}", edited.text);
    let again = with_server(client, Some(&edited.text), name, server, false);
    assert_eq!(again.map(|again| again.changed), Ok(false), "{client}: {}", edited.text);
    // The existing content may be invalid in a way that only the removal detects.
    let Ok(out) = without_server(client, &edited.text, name, edited.block) else { return };
    let reading = read(ConfigFormat::Client(client), Path::new("file"), out.text.as_bytes());
    assert!(reading.servers.iter().all(|found| found.name != *name || found.project.is_some()));
}
