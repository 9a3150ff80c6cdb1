//! Edits the text of a script: removed text becomes blanks, so that lines and columns stay the same, and every position
//! of the output can be mapped back to the source.

/// One change: the bytes from `start` to `end` become `text`.
struct TextEdit {
    start: usize,
    end: usize,
    text: String,
}

/// A position in a script, counted from one; the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScriptPosition {
    /// The line.
    pub(crate) line: u32,
    /// The column.
    pub(crate) column: u32,
}

/// A source text with pending edits.
pub(crate) struct ScriptDraft<'s> {
    source: &'s str,
    edits: Vec<TextEdit>,
}

impl<'s> ScriptDraft<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, edits: Vec::new() }
    }

    /// Returns the source between two offsets; empty if they are invalid.
    pub(crate) fn text(&self, start: u32, end: u32) -> &'s str {
        self.source.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the source from an offset on.
    pub(crate) fn after(&self, start: u32) -> &'s str {
        self.source.get(start as usize..).unwrap_or_default()
    }

    /// Blanks text. Line breaks stay, every other character becomes a space.
    pub(crate) fn blank(&mut self, start: u32, end: u32) {
        let text = self
            .text(start, end)
            .chars()
            .map(|character| if breaks_line(character) { character } else { ' ' })
            .collect();
        self.push(start, end, text);
    }

    /// Removes a statement or a class member. The semicolon keeps its neighbors apart.
    pub(crate) fn drop_whole(&mut self, start: u32, end: u32) {
        self.blank(start, end);
        self.insert(end, ";");
    }

    /// Replaces text, keeping its line breaks.
    pub(crate) fn replace(&mut self, start: u32, end: u32, text: &str) {
        let breaks = self.text(start, end).chars().filter(|character| breaks_line(*character));
        let text = text.chars().chain(breaks).collect();
        self.push(start, end, text);
    }

    /// Inserts `text` before the byte at `at`.
    pub(crate) fn insert(&mut self, at: u32, text: &str) {
        self.push(at, at, text.to_owned());
    }

    /// Blanks the first of `signs` between two offsets.
    pub(crate) fn blank_sign(&mut self, start: u32, end: u32, signs: &[char]) {
        let found = self.text(start, end).find(signs).and_then(|at| u32::try_from(at).ok());
        if let Some(at) = found {
            self.blank(start + at, start + at + 1);
        }
    }

    /// Blanks each of `words` between two offsets.
    pub(crate) fn blank_words(&mut self, start: u32, end: u32, words: &[&str]) {
        let text = self.text(start, end);
        let mut rest = 0;
        for word in text.split(|character: char| !character.is_alphanumeric() && character != '_') {
            // The pieces are adjacent, each followed by the character that ended it.
            let at = text.get(rest..).and_then(|tail| tail.find(word)).unwrap_or(0) + rest;
            rest = at + word.len();
            if words.contains(&word)
                && let (Ok(at), Ok(end)) = (u32::try_from(at), u32::try_from(rest))
            {
                self.blank(start + at, start + end);
            }
        }
    }

    fn push(&mut self, start: u32, end: u32, text: String) {
        self.edits.push(TextEdit { start: start as usize, end: end as usize, text });
    }

    /// Returns the edited text between a first line, which is not from the source, and an end.
    pub(crate) fn write(mut self, first_line: &str, end: &str) -> WrittenScript {
        self.edits.sort_by_key(|edit| (edit.start, edit.end));
        let mut code = String::with_capacity(self.source.len() + first_line.len() + end.len() + 64);
        code.push_str(first_line);
        code.push('\n');
        let mut marks = Vec::with_capacity(self.edits.len() * 2 + 1);
        marks.push((code.len(), 0));
        let mut done = 0;
        for edit in &self.edits {
            // An edit inside one that is already written has nothing left to change.
            let Some(kept) = self.source.get(done..edit.start) else { continue };
            code.push_str(kept);
            marks.push((code.len(), edit.start));
            code.push_str(&edit.text);
            marks.push((code.len(), edit.end));
            done = edit.end;
        }
        code.push_str(self.source.get(done..).unwrap_or_default());
        marks.push((code.len(), self.source.len()));
        code.push('\n');
        code.push_str(end);
        WrittenScript { code, marks }
    }
}

/// Text that is ready to run, with a mapping to its source.
pub(crate) struct WrittenScript {
    /// The JavaScript.
    pub(crate) code: String,
    /// Corresponding offsets of `code` and of the source, ascending.
    marks: Vec<(usize, usize)>,
}

impl WrittenScript {
    /// Maps a position in the written code to `source`; `None` for generated lines.
    pub(crate) fn source_position(
        &self,
        source: &str,
        place: ScriptPosition,
    ) -> Option<ScriptPosition> {
        let offset = offset_of(&self.code, place)?;
        let after = self.marks.partition_point(|(written, _)| *written <= offset);
        let (written, original) = self.marks.get(after.checked_sub(1)?).copied()?;
        let limit = self.marks.get(after).map_or(source.len(), |(_, original)| *original);
        if after == self.marks.len() && offset > written + 1 {
            return None;
        }
        position_of(source, (original + (offset - written)).min(limit))
    }
}

/// Returns the position of a byte offset.
pub(crate) fn position_of(source: &str, offset: usize) -> Option<ScriptPosition> {
    let before =
        source.get(..offset).or_else(|| source.get(..source.floor_char_boundary(offset)))?;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(start..)?.chars().count() + 1;
    Some(ScriptPosition { line: u32::try_from(line).ok()?, column: u32::try_from(column).ok()? })
}

/// Returns the trimmed text of a line, cut if it is long.
pub(crate) fn line_text(source: &str, line: u32) -> Option<String> {
    const MAX_SHOWN_CHARS: usize = 200;
    let text = source.lines().nth((line as usize).checked_sub(1)?)?.trim();
    let mut shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    Some(shown)
}

/// Returns the offset of an engine position, whose columns are bytes.
fn offset_of(text: &str, place: ScriptPosition) -> Option<usize> {
    let above = (place.line as usize).checked_sub(1)?;
    let start = match above {
        0 => 0,
        _ => text.match_indices('\n').nth(above - 1).map(|(at, _)| at + 1)?,
    };
    let line = text.get(start..)?.lines().next().unwrap_or_default();
    Some(start + line.len().min((place.column as usize).saturating_sub(1)))
}

fn breaks_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_keep_lines_and_columns() {
        let mut draft = ScriptDraft::new("a: é\nb");
        draft.blank(1, 6);
        let written = draft.write("{", "}");
        assert_eq!(written.code, "{\na   \nb\n}");
        assert_eq!(
            written.source_position("a: é\nb", ScriptPosition { line: 3, column: 1 }),
            Some(ScriptPosition { line: 2, column: 1 })
        );
        assert_eq!(written.source_position("a: é\nb", ScriptPosition { line: 1, column: 1 }), None);
    }

    #[test]
    fn columns_after_an_insertion_are_mapped_back() {
        let source = "one + two";
        let mut draft = ScriptDraft::new(source);
        draft.insert(0, "return ");
        let written = draft.write("{", "}");
        for (column, want) in [(1, 1), (7, 1), (8, 1), (14, 7)] {
            let got = written.source_position(source, ScriptPosition { line: 2, column });
            assert_eq!(got, Some(ScriptPosition { line: 1, column: want }), "column {column}");
        }
    }

    #[test]
    fn words_are_blanked_whole() {
        let mut draft = ScriptDraft::new("private static readonly x");
        draft.blank_words(0, 24, &["private", "readonly", "stat"]);
        assert_eq!(draft.write("", "").code, "\n        static          x\n");
    }
}
