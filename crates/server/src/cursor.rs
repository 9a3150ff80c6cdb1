//! Opaque, tamper-evident strings that a client sends back: a position in a list, the state of a question.

use rmcp::{
    ErrorData,
    model::{RequestStateCodec, SealOptions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use std::time::Duration;

/// Seals with a key that lives as long as the process.
#[derive(Debug)]
pub(crate) struct CursorCodec(RequestStateCodec);

/// A sealed string that this server did not create, or not for this purpose.
#[derive(Debug)]
pub(crate) struct InvalidCursor;

impl CursorCodec {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(RequestStateCodec::new_unchecked(key)))
    }

    /// Seals `value` for one purpose; opening it for another fails.
    pub(crate) fn close<T: Serialize>(
        &self,
        value: &T,
        purpose: &str,
        ttl: Option<Duration>,
    ) -> String {
        let mut options = SealOptions::new().associated_data(purpose.as_bytes());
        if let Some(ttl) = ttl {
            options = options.ttl(ttl);
        }
        let payload = serde_json::to_vec(value).unwrap_or_default();
        self.0.seal_with(&payload, &options)
    }

    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        sealed: &str,
        purpose: &str,
    ) -> Result<T, InvalidCursor> {
        self.0.open_json_with(sealed, purpose.as_bytes()).map_err(|_| InvalidCursor)
    }
}

/// One page of a list, and the cursor of the next.
pub(crate) type ListPage<T> = (Vec<T>, Option<String>);

/// Extracts one page of a list. `key` names an item, so that a page continues after the last item of the previous one
/// even if the list has changed in between.
pub(crate) fn page<T>(
    items: Vec<T>,
    key: impl Fn(&T) -> &str,
    size: usize,
    place: &ListPosition<'_>,
) -> Result<ListPage<T>, ErrorData> {
    let start = match place.cursor {
        None => 0,
        Some(cursor) => {
            let (index, last): (usize, String) =
                place.seal.open(cursor, &place.purpose()).map_err(|InvalidCursor| bad_cursor())?;
            items.iter().position(|item| key(item) == last).map_or(index, |found| found + 1)
        }
    };
    if size == 0 || items.len().saturating_sub(start) <= size {
        return Ok((items.into_iter().skip(start).collect(), None));
    }
    let page: Vec<T> = items.into_iter().skip(start).take(size).collect();
    let next = page
        .last()
        .map(|last| place.seal.close(&(start + size, key(last)), &place.purpose(), None));
    Ok((page, next))
}

/// The list, the principal, and the position.
pub(crate) struct ListPosition<'a> {
    pub(crate) seal: &'a CursorCodec,
    pub(crate) list: &'static str,
    pub(crate) principal: &'a str,
    pub(crate) cursor: Option<&'a str>,
}

impl ListPosition<'_> {
    fn purpose(&self) -> String {
        format!("cursor|{}|{}", self.list, self.principal)
    }
}

fn bad_cursor() -> ErrorData {
    let reason = "is not a cursor of this list";
    ErrorData::invalid_params(
        "Invalid params: `cursor` is not a cursor of this list; start again without one",
        Some(
            json!({"parameter": "cursor", "reason": reason, "details": "Validation failed for parameter 'cursor'"}),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        seal: &CursorCodec,
        items: &[&str],
        cursor: Option<&str>,
        principal: &str,
    ) -> (Vec<String>, Option<String>) {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        page(items, |item| item, 2, &ListPosition { seal, list: "tools", principal, cursor })
            .unwrap()
    }

    #[test]
    fn pages_follow_each_other() {
        let seal = CursorCodec::new().unwrap();
        let (first, cursor) = read(&seal, &["a", "b", "c", "d", "e"], None, "ann");
        let (second, cursor) = read(&seal, &["a", "b", "c", "d", "e"], cursor.as_deref(), "ann");
        let (third, end) = read(&seal, &["a", "b", "c", "d", "e"], cursor.as_deref(), "ann");
        assert_eq!(
            (first, second, third),
            (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()], vec!["e".into()])
        );
        assert_eq!(end, None);
        assert_eq!(read(&seal, &["a", "b"], None, "ann").1, None, "no cursor to an empty page");
    }

    #[test]
    fn a_page_continues_after_its_last_item_when_the_list_changes() {
        let seal = CursorCodec::new().unwrap();
        let (_, cursor) = read(&seal, &["a", "b", "c"], None, "ann");
        assert_eq!(read(&seal, &["new", "a", "b", "c"], cursor.as_deref(), "ann").0, ["c"]);
        assert_eq!(read(&seal, &["a", "c"], cursor.as_deref(), "ann").0, Vec::<String>::new());
    }

    #[test]
    fn a_bad_cursor_is_refused() {
        let seal = CursorCodec::new().unwrap();
        let (_, cursor) = read(&seal, &["a", "b", "c"], None, "ann");
        let cursor = cursor.unwrap();
        let mut bent = cursor.clone();
        bent.pop();
        let stranger = CursorCodec::new().unwrap().close(&(2, "b"), "cursor|tools|ann", None);
        let cases = [
            ("tools", "ann", "2"),
            ("tools", "ann", ""),
            ("tools", "ann", &bent),
            ("tools", "ann", &stranger),
            ("tools", "bob", &cursor),
            ("prompts", "ann", &cursor),
        ];
        for (list, principal, cursor) in cases {
            let place = ListPosition { seal: &seal, list, principal, cursor: Some(cursor) };
            let error = page(vec![String::new()], |item| item, 2, &place).unwrap_err();
            assert_eq!(
                (error.code.0, error.data.unwrap()["parameter"].as_str()),
                (-32602, Some("cursor"))
            );
        }
    }

    #[test]
    fn a_seal_expires() {
        let seal = CursorCodec::new().unwrap();
        let sealed = seal.close(&1, "x", Some(Duration::ZERO));
        // The clock of a seal counts milliseconds: it remains valid until the next one begins.
        while seal.open::<i32>(&sealed, "x").is_ok() {
            std::thread::yield_now();
        }
        let sealed = seal.close(&1, "x", Some(Duration::from_mins(1)));
        assert_eq!(seal.open::<i32>(&sealed, "x").unwrap(), 1);
    }
}
