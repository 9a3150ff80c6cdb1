//! Identifies commit authors: one number per person, by mailmap, name and email address.
//!
//! Addresses only identify people and never leave this module.

use gix::{
    actor::SignatureRef,
    bstr::{BStr, ByteSlice},
    mailmap::Snapshot,
};
use std::collections::HashMap;

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 80;
/// Placeholder for an empty name.
const NAMELESS: &str = "(no name)";
/// Suffixes of bot names.
const BOT_ENDINGS: [&str; 4] = ["[bot]", "-bot", " bot", "-robot"];
/// Other bot names, in lowercase.
const BOT_NAMES: [&str; 11] = [
    "dependabot",
    "dependabot-preview",
    "renovate",
    "renovatebot",
    "github-actions",
    "github actions",
    "greenkeeper",
    "pre-commit-ci",
    "copybara-service",
    "bors",
    "web-flow",
];
/// Shared mailboxes.
const SHARED_MAILBOXES: [&str; 8] =
    ["noreply", "no-reply", "root", "nobody", "none", "unknown", "git", "devnull"];

/// Number of a person, from 0.
pub(super) type AuthorId = u32;

/// A person or bot.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Author {
    /// Name in the newest commit.
    pub(super) name: String,
    /// Whether it is a bot.
    pub(super) bot: bool,
}

/// All authors seen so far.
#[derive(Debug, Default)]
pub(super) struct Authors {
    mailmap: Snapshot,
    all: Vec<Author>,
    by_signature: HashMap<Box<[u8]>, AuthorId>,
    by_name: HashMap<String, AuthorId>,
    by_address: HashMap<String, AuthorId>,
    /// Buffer reused for each lookup.
    key: Vec<u8>,
}

impl Authors {
    /// Creates an empty list.
    pub(super) fn new(mailmap: Snapshot) -> Self {
        Self { mailmap, ..Self::default() }
    }

    /// Returns the author with this number.
    pub(super) fn get(&self, id: AuthorId) -> Option<&Author> {
        self.all.get(id as usize)
    }

    /// Returns the number of authors.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether the author with this number is a person, not a bot.
    pub(super) fn is_person(&self, id: AuthorId) -> bool {
        self.get(id).is_some_and(|author| !author.bot)
    }

    /// Returns the number of the signature's author.
    pub(super) fn id_of(&mut self, signature: SignatureRef<'_>) -> AuthorId {
        self.key.clear();
        self.key.extend_from_slice(signature.name);
        self.key.push(0);
        self.key.extend_from_slice(signature.email);
        if let Some(id) = self.by_signature.get(self.key.as_slice()) {
            return *id;
        }
        let id = self.resolve(signature.trim());
        self.by_signature.insert(self.key.as_slice().into(), id);
        id
    }

    fn resolve(&mut self, signature: SignatureRef<'_>) -> AuthorId {
        let mapped = self.mailmap.try_resolve_ref(signature);
        let name = mapped.as_ref().and_then(|new| new.name).unwrap_or(signature.name);
        let address = mapped.as_ref().and_then(|new| new.email).unwrap_or(signature.email);
        let name = readable(name);
        let address = address.to_str_lossy().to_lowercase();
        let name_key = Some(name.to_lowercase()).filter(|key| key != NAMELESS);
        let address_key = Some(address.clone()).filter(|address| is_personal(address));
        let known = name_key.as_ref().and_then(|key| self.by_name.get(key));
        let known = known.or_else(|| address_key.as_ref().and_then(|key| self.by_address.get(key)));
        let id = known.copied().unwrap_or_else(|| {
            let bot = is_bot(&name, &address);
            self.all.push(Author { name, bot });
            AuthorId::try_from(self.all.len() - 1).unwrap_or(AuthorId::MAX)
        });
        if let Some(key) = name_key {
            self.by_name.entry(key).or_insert(id);
        }
        if let Some(key) = address_key {
            self.by_address.entry(key).or_insert(id);
        }
        id
    }
}

/// Sanitizes a name: no control characters, no address, limited length. Old names are often Latin-1.
fn readable(name: &BStr) -> String {
    let text = match name.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => name.iter().copied().map(char::from).collect(),
    };
    let text: String = text.chars().map(|char| if is_shown(char) { char } else { ' ' }).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let shown = match words.as_slice() {
        [word] => {
            let mailbox = word.split_once('@').map(|(mailbox, _)| mailbox);
            mailbox.filter(|mailbox| !mailbox.is_empty()).unwrap_or(word).to_owned()
        }
        words => {
            let plain = words.iter().filter(|word| !is_personal(&word.to_lowercase()));
            plain.copied().collect::<Vec<_>>().join(" ")
        }
    };
    if shown.is_empty() {
        return NAMELESS.to_owned();
    }
    shown.chars().take(MAX_NAME_CHARS).collect()
}

/// Whether a character may be shown: not control characters and invisible direction marks.
fn is_shown(char: char) -> bool {
    !char.is_control()
        && !matches!(char, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// Whether a lowercase address belongs to one person.
fn is_personal(address: &str) -> bool {
    let trimmed = address.trim_matches(|char: char| !char.is_alphanumeric());
    trimmed.split_once('@').is_some_and(|(mailbox, host)| {
        host.contains('.') && !mailbox.is_empty() && !SHARED_MAILBOXES.contains(&mailbox)
    })
}

fn is_bot(name: &str, address: &str) -> bool {
    let name = name.to_lowercase();
    address.contains("[bot]@")
        || BOT_NAMES.contains(&name.as_str())
        || BOT_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed<'a>(name: &'a [u8], email: &'a str) -> SignatureRef<'a> {
        SignatureRef { name: name.into(), email: email.into(), time: "0 +0000" }
    }

    #[test]
    fn names_can_be_shown() {
        let long = "x".repeat(200);
        let cases: [(&[u8], &str); 12] = [
            (b"Ada Lovelace", "Ada Lovelace"),
            (b"  Ada \t Lovelace ", "Ada Lovelace"),
            (b"J\xf6rg", "J\u{f6}rg"),
            ("Jörg".as_bytes(), "Jörg"),
            (b"A\x1b[31md\x07a", "A [31md a"),
            ("A\u{202e}da".as_bytes(), "A da"),
            (b"", "(no name)"),
            (b"\x01\x02", "(no name)"),
            (b"ada@example.com", "ada"),
            (b"@ada", "@ada"),
            (b"Ada (ada@example.com)", "Ada"),
            (long.as_bytes(), &"x".repeat(80)),
        ];
        for (name, want) in cases {
            assert_eq!(readable(name.as_bstr()), want, "{name:?}");
        }
    }

    #[test]
    fn one_person_has_one_number() {
        let mailmap = b"Ada Lovelace <ada@new.example> Ada L <ada@old.example>";
        let mut authors = Authors::new(Snapshot::from_bytes(mailmap));
        let cases: [(&[u8], &str, AuthorId); 10] = [
            (b"Ada Lovelace", "ada@new.example", 0),
            (b"Ada L", "ada@old.example", 0),
            (b"ada lovelace", "ada@home.example", 0),
            (b"countess", "ADA@home.example", 0),
            (b"Charles", "noreply@example.com", 1),
            (b"Grace", "noreply@example.com", 2),
            (b"", "someone@example.com", 3),
            (b"", "else@example.com", 4),
            (b"renovate[bot]", "29139614+renovate[bot]@users.example.com", 5),
            (b"Charles", "", 1),
        ];
        for (name, email, want) in cases {
            assert_eq!(authors.id_of(signed(name, email)), want, "{name:?} {email}");
        }
        assert_eq!(authors.len(), 6);
        assert_eq!(authors.get(0), Some(&Author { name: "Ada Lovelace".into(), bot: false }));
        assert_eq!(authors.get(5), Some(&Author { name: "renovate[bot]".into(), bot: true }));
        assert_eq!(authors.get(6), None);
        assert!(authors.is_person(0) && !authors.is_person(5) && !authors.is_person(6));
    }

    #[test]
    fn programs_differ_from_people() {
        let cases = [
            ("dependabot[bot]", "", true),
            ("Dependabot", "", true),
            ("renovate", "", true),
            ("GitHub Actions", "", true),
            ("semantic-release-bot", "", true),
            ("k8s-ci-robot", "", true),
            ("Updates", "1+updates[bot]@users.example.com", true),
            ("Abbot", "abbot@example.com", false),
            ("Renovate Smith", "", false),
        ];
        for (name, address, want) in cases {
            assert_eq!(is_bot(name, address), want, "{name}");
        }
    }
}
