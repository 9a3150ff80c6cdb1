//! Running text while it is built: white space collapsed, code in backticks, links on the side.

use crate::document::{LinkedText, TextLink};

/// Running text that is not yet a block.
#[derive(Debug, Default)]
pub(super) struct HtmlInlineText {
    text: LinkedText,
    /// Whether white space came last; it is written only before more text.
    space: bool,
    /// Start of the open code span.
    code: Option<usize>,
    /// Start and target of the open link.
    link: Option<(usize, String)>,
    /// Whether `|` is escaped, as in table cells.
    pub(super) in_cell: bool,
}

impl HtmlInlineText {
    /// Adds text. Returns whether it was more than white space.
    pub(super) fn push(&mut self, text: &str) -> bool {
        // Places where a word may be broken show nothing.
        let unbroken;
        let text = if !text.is_ascii() && text.contains(['\u{200b}', '\u{ad}']) {
            unbroken = text.replace(['\u{200b}', '\u{ad}'], "");
            &unbroken
        } else {
            text
        };
        let mut any = false;
        let mut words = text.split(char::is_whitespace).peekable();
        while let Some(word) = words.next() {
            if !word.is_empty() {
                self.settle();
                any = true;
                if self.in_cell && word.contains('|') {
                    self.text.plain.push_str(&word.replace('|', "\\|"));
                } else {
                    self.text.plain.push_str(word);
                }
            }
            if words.peek().is_some() {
                self.space = true;
            }
        }
        any
    }

    /// Adds a space before the next text.
    pub(super) fn apart(&mut self) {
        self.space = true;
    }

    /// Starts a new line for the next text.
    pub(super) fn break_line(&mut self) {
        self.space = false;
        if !self.text.plain.is_empty() && !self.text.plain.ends_with('\n') {
            self.text.plain.push('\n');
        }
    }

    fn settle(&mut self) {
        if self.space && !self.text.plain.is_empty() && !self.text.plain.ends_with(['\n', ' ']) {
            self.text.plain.push(' ');
        }
        self.space = false;
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.plain.trim().is_empty()
    }

    pub(super) fn open_code(&mut self) {
        if self.code.is_none() {
            self.settle();
            self.code = Some(self.text.plain.len());
        }
    }

    /// Puts backticks around the code. A link within it stays if it is all of it: Markdown has none within code. One that
    /// ends or begins within it ends before it, or begins behind it.
    pub(super) fn close_code(&mut self) {
        let Some(start) = self.code.take() else { return };
        let end = self.text.plain.len();
        let Some(code) = self.text.plain.get(start..end).map(str::trim_start) else { return };
        if code.is_empty() {
            return;
        }
        let start = end - code.len();
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let tick =
            if longest == 0 { "`".to_owned() } else { format!("{} ", "`".repeat(longest + 1)) };
        let closing: String = tick.chars().rev().collect();
        self.text.plain.insert_str(start, &tick);
        self.text.plain.push_str(&closing);
        let now = self.text.plain.len();
        if let Some((open, _)) = &mut self.link
            && *open > start
        {
            *open = now;
        }
        let within = self.text.links.partition_point(|link| link.label.start < start);
        let mut links = self.text.links.split_off(within).into_iter();
        if let Some(link) = self.text.links.last_mut().filter(|link| link.label.end > start) {
            link.label.end = if link.label.end == end { now } else { start };
        }
        if let (Some(link), None) = (links.next(), links.next())
            && link.label == (start..end)
        {
            self.text.links.push(TextLink { label: start..now, target: link.target });
        }
    }

    /// Starts a link, unless one is open: links do not nest.
    pub(super) fn open_link(&mut self, target: String) -> bool {
        let free = self.link.is_none();
        if free {
            self.settle();
            self.link = Some((self.text.plain.len(), target));
        }
        free
    }

    pub(super) fn close_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        let end = self.text.plain.trim_end().len();
        if self.text.plain.get(start..end).is_some_and(|label| !label.trim().is_empty()) {
            self.text.links.push(TextLink { label: start..end, target });
        }
    }

    /// The text so far. Code and links that are open go on in what follows.
    pub(super) fn take(&mut self) -> LinkedText {
        let in_code = self.code.is_some();
        let target = self.link.as_ref().map(|(_, target)| target.clone());
        self.close_link();
        self.close_code();
        self.space = false;
        let text = std::mem::take(&mut self.text);
        self.code = in_code.then_some(0);
        self.link = target.map(|target| (0, target));
        text
    }
}

/// Adds text to text, its links as well, each line but the first behind an indent.
pub(super) fn append(to: &mut LinkedText, text: &LinkedText, indent: &str) {
    let mut links = text.links.iter().peekable();
    let mut from = 0;
    for (n, line) in text.plain.split_inclusive('\n').enumerate() {
        if n > 0 && !line.trim().is_empty() {
            to.plain.push_str(indent);
        }
        let base = to.plain.len();
        let end = from + line.len();
        to.plain.push_str(line);
        while let Some(link) = links.next_if(|link| link.label.start < end) {
            let label_end = link.label.end.min(end).saturating_sub(from) + base;
            to.links.push(TextLink {
                label: link.label.start.saturating_sub(from) + base..label_end,
                target: link.target.clone(),
            });
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &LinkedText) -> String {
        text.to_markdown(&|target| Some(target.to_owned()))
    }

    #[test]
    fn white_space_is_squeezed_and_marks_are_put_around() {
        let mut line = HtmlInlineText::default();
        assert!(!line.push(" \n "));
        assert!(line.push("S\u{ad}ee\u{a0} "));
        assert!(line.open_link("a.html".into()));
        assert!(!line.open_link("b.html".into()));
        line.push(" the ");
        line.open_code();
        line.push("CREATE\n INDEX");
        line.close_code();
        line.push(" ");
        line.close_link();
        line.push("page , ");
        line.open_code();
        line.close_code();
        line.open_code();
        line.push("a`b");
        line.close_code();
        assert_eq!(shown(&line.take()), "See [the `CREATE INDEX`](a.html) page , `` a`b ``");
    }

    #[test]
    fn links_in_code_stay_where_they_are_all_of_it() {
        let mut line = HtmlInlineText::default();
        for more in ["", "<T>"] {
            line.open_code();
            line.open_link("vec.html".into());
            line.push("Vec");
            line.close_link();
            line.push(more);
            line.close_code();
            line.apart();
        }
        assert_eq!(shown(&line.take()), "[`Vec`](vec.html) `Vec<T>`");
    }

    #[test]
    fn links_that_cross_the_end_of_code_are_cut_there() {
        let mut line = HtmlInlineText::default();
        for closes_in_code in [true, false] {
            line.open_link("x".into());
            line.push("a ");
            line.open_code();
            line.push("☺");
            if closes_in_code {
                line.close_link();
            }
            line.push("b");
            line.close_code();
            line.close_link();
            line.apart();
        }
        line.open_code();
        line.push("☺");
        line.open_link("y".into());
        line.push("b");
        line.close_code();
        line.push("c");
        line.close_link();
        assert_eq!(shown(&line.take()), "[a ](x)`☺b` [a `☺b`](x) `☺b`[c](y)");
    }

    #[test]
    fn what_is_open_goes_on_in_the_next_text() {
        let mut line = HtmlInlineText::default();
        line.open_link("x".into());
        line.push("a");
        line.open_code();
        line.push("☺");
        let first = line.take();
        line.push("b");
        line.close_code();
        line.close_link();
        let both = (shown(&first), shown(&line.take()));
        assert_eq!((both.0.as_str(), both.1.as_str()), ("[a`☺`](x)", "[`b`](x)"));
    }

    #[test]
    fn links_move_with_their_text() {
        let mut text = LinkedText::new("a\n");
        text.link("b", "x");
        let mut all = LinkedText::new("- ");
        append(&mut all, &text, "    ");
        assert_eq!(shown(&all), "- a\n    [b](x)");
    }
}
