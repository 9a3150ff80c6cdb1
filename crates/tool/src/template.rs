//! Families of addresses: RFC 6570 templates, parsed as far as matching needs.

/// Maximum bytes of a template, and of an address matched against one. Longer ones match nothing.
const MAX_TEMPLATE_BYTES: usize = 8 * 1024;
/// Maximum expressions of a template. Bounds the cost of matching for untrusted templates.
const MAX_EXPRESSIONS: usize = 64;

/// A family of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    /// Literal text.
    Text(String),
    /// `{name}`: one or more characters of one path segment.
    Segment,
    /// `{+name}`, `{#name}`, `{/name}`: any text.
    Rest,
    /// `{?name}`, `{&name}`: nothing, or text that begins with `?` or `&`.
    Query,
}

impl UriTemplate {
    /// Parses a template. `None` if it is invalid or too long.
    pub fn new(template: &str) -> Option<Self> {
        if template.len() > MAX_TEMPLATE_BYTES || template.matches('{').count() > MAX_EXPRESSIONS {
            return None;
        }
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (expression, after) = after.split_once('}')?;
            parts.push(TemplatePart::Text(before.to_owned()));
            parts.push(match expression.chars().next() {
                Some('+' | '#' | '/') => TemplatePart::Rest,
                Some('?' | '&') => TemplatePart::Query,
                _ => TemplatePart::Segment,
            });
            rest = after;
        }
        parts.push(TemplatePart::Text(rest.to_owned()));
        Some(Self { parts })
    }

    /// Whether an address matches.
    pub fn matches(&self, address: &str) -> bool {
        if address.len() > MAX_TEMPLATE_BYTES {
            return false;
        }
        // Where in the address the parts so far may end: tracks all possibilities at once, so that no template causes
        // backtracking.
        let mut ends = vec![false; address.len() + 1];
        if let Some(start) = ends.first_mut() {
            *start = true;
        }
        for part in &self.parts {
            ends = part.follow(&ends, address);
            if !ends.contains(&true) {
                return false;
            }
        }
        ends.last() == Some(&true)
    }
}

impl TemplatePart {
    /// Where the part may end, given where it may begin.
    fn follow(&self, begins: &[bool], address: &str) -> Vec<bool> {
        let mut ends = vec![false; begins.len()];
        let mut set = |at: usize| {
            if let Some(end) = ends.get_mut(at) {
                *end = true;
            }
        };
        let bytes = address.as_bytes();
        let mut open = false;
        for (at, begins_here) in begins.iter().enumerate() {
            match self {
                Self::Text(text) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    if *begins_here && rest.starts_with(text.as_bytes()) {
                        set(at + text.len());
                    }
                }
                Self::Segment => {
                    open |= *begins_here;
                    open &= bytes.get(at).is_some_and(|byte| !b"/?#".contains(byte));
                    if open && address.is_char_boundary(at + 1) {
                        set(at + 1);
                    }
                }
                Self::Rest => {
                    open |= *begins_here;
                    if open && address.is_char_boundary(at) {
                        set(at);
                    }
                }
                Self::Query => {
                    if open || *begins_here {
                        set(at);
                    }
                    open |= *begins_here && bytes.get(at).is_some_and(|byte| b"?&".contains(byte));
                }
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_their_members() {
        let cases = [
            ("demo://text/{id}", "demo://text/1", true),
            ("demo://text/{id}", "demo://text/1/2", false),
            ("demo://text/{id}", "demo://text/", false),
            ("demo://text/{id}", "demo://blob/1", false),
            ("file:///{+path}", "file:///a/b/c", true),
            ("file:///{+path}", "file:///", true),
            ("x:{a}{?q}", "x:1?q=2", true),
            ("x:{a}{?q}", "x:1", true),
            ("x:{a}{?q}", "x:1#q", false),
            ("x:{a}{&q}", "x:1&q=2/3", true),
            ("x:{a}-{b}", "x:1-2-3", true),
            ("x:{a}{b}", "x:\u{e9}", false),
            ("x:{a}{b}", "x:\u{e9}e", true),
            ("x:{}", "x:1", true),
            ("x.y", "xzy", false),
            ("x.y", "x.y", true),
            ("x.y", "x.yz", false),
            ("", "", true),
        ];
        for (template, address, want) in cases {
            assert_eq!(
                UriTemplate::new(template).unwrap().matches(address),
                want,
                "{template} {address}"
            );
        }
        assert!(UriTemplate::new("x{a").is_none());
    }

    #[test]
    fn templates_and_addresses_are_bounded() {
        assert!(UriTemplate::new(&"{a}".repeat(MAX_EXPRESSIONS)).is_some());
        assert!(UriTemplate::new(&"{a}".repeat(MAX_EXPRESSIONS + 1)).is_none());
        assert!(UriTemplate::new(&"a".repeat(MAX_TEMPLATE_BYTES + 1)).is_none());
        let all = UriTemplate::new("{+all}").unwrap();
        assert!(
            all.matches(&"a".repeat(MAX_TEMPLATE_BYTES))
                && !all.matches(&"a".repeat(MAX_TEMPLATE_BYTES + 1))
        );
    }
}
