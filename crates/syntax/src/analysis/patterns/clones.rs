//! Duplicate blocks within a file.

use super::{Pattern, PatternConfidence, facts::FileFacts};
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

/// Minimum lines of a block.
const MIN_CLONE_LINES: usize = 6;

/// Minimum tokens of a block.
const MIN_CLONE_TOKENS: usize = 50;

/// Maximum places listed.
const MAX_LISTED_CLONES: usize = 10;

/// A line of code, without comments and spaces.
struct CodeLine {
    number: u32,
    hash: u64,
    tokens: usize,
    /// The enclosing function.
    function: usize,
}

/// Finds identical blocks, token by token.
pub(super) fn find(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    let lines = lines(facts);
    let mut first: HashMap<u64, usize> = HashMap::new();
    // Where a block begins that is repeated: its length, and the other places.
    let mut blocks: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    let mut by_start: HashMap<(usize, usize), usize> = HashMap::new();
    let mut at = 0;
    while let Some(window) = lines.get(at..at + MIN_CLONE_LINES) {
        if !facts.spend(MIN_CLONE_LINES) {
            return;
        }
        let hash = hash(window);
        let same = first.get(&hash).copied().filter(|other| other + MIN_CLONE_LINES <= at);
        let same = same.filter(|_| is_varied(window));
        let length = same.map_or(0, |other| shared_line_count(&lines, other, at, at - other));
        facts.spend(length);
        match same {
            Some(other) if is_worth(&lines, at, length) => {
                // An immediately repeated block may repeat many times.
                let period = at - other;
                let run = shared_line_count(&lines, other, at, lines.len());
                facts.spend(run);
                let block = *by_start.entry((other, length)).or_insert_with(|| {
                    blocks.push((other, length, Vec::new()));
                    blocks.len() - 1
                });
                blocks[block].2.extend((at..=at + run - length).step_by(period));
                at += run;
            }
            _ => {
                first.entry(hash).or_insert(at);
                at += 1;
            }
        }
    }
    let is_test = facts.source.path.to_ascii_lowercase().contains("test");
    for (start, length, others) in &blocks {
        let mut one = pattern(&lines, *start, *length, others);
        // Tests repeat themselves so that each can be read alone.
        one.confidence = if is_test { PatternConfidence::Low } else { one.confidence };
        found.push(one);
    }
}

/// Lines inside functions: tables and lists of names repeat themselves by nature.
fn lines(facts: &FileFacts<'_>) -> Vec<CodeLine> {
    let mut lines: Vec<CodeLine> = Vec::new();
    for token in &facts.tokens {
        let Some(function) = token.function else { continue };
        match lines.last_mut() {
            Some(line) if line.number == token.line => {
                let mut hasher = DefaultHasher::new();
                (line.hash, token.hash).hash(&mut hasher);
                line.hash = hasher.finish();
                line.tokens += 1;
            }
            _ => lines.push(CodeLine { number: token.line, hash: token.hash, tokens: 1, function }),
        }
    }
    // A line with only a brace does not count.
    lines.retain(|line| line.tokens > 1);
    lines
}

fn hash(window: &[CodeLine]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for line in window {
        line.hash.hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether the block has enough content.
fn is_worth(lines: &[CodeLine], at: usize, length: usize) -> bool {
    let block = lines.get(at..at + length).unwrap_or_default();
    let size: usize = block.iter().map(|line| line.tokens).sum();
    length >= MIN_CLONE_LINES && size >= MIN_CLONE_TOKENS
}

/// One line over and over is a list.
fn is_varied(window: &[CodeLine]) -> bool {
    let different: HashSet<u64> = window.iter().map(|line| line.hash).collect();
    different.len() * 2 >= MIN_CLONE_LINES
}

/// The number of identical lines from both positions, each within one function so that they can be extracted.
fn shared_line_count(lines: &[CodeLine], one: usize, other: usize, most: usize) -> usize {
    let within = |start: usize, at: usize| {
        lines.get(start).zip(lines.get(at)).is_some_and(|(a, b)| a.function == b.function)
    };
    (0..most)
        .take_while(|step| {
            let (a, b) = (one + step, other + step);
            let same = lines.get(a).zip(lines.get(b)).is_some_and(|(a, b)| a.hash == b.hash);
            same && within(one, a) && within(other, b)
        })
        .count()
}

fn pattern(lines: &[CodeLine], start: usize, length: usize, others: &[usize]) -> Pattern {
    let span = |from: usize| {
        let number = |at: usize| lines.get(at).map_or(0, |line| line.number);
        (number(from), number(from + length - 1))
    };
    let (first, last) = span(start);
    let rest = others.iter().take(MAX_LISTED_CLONES).map(|at| span(*at));
    let places: Vec<(u32, u32)> = std::iter::once((first, last)).chain(rest).collect();
    let words: Vec<String> = places.iter().map(|(from, to)| format!("{from}–{to}")).collect();
    let confidence = if length >= 2 * MIN_CLONE_LINES {
        PatternConfidence::High
    } else {
        PatternConfidence::Medium
    };
    let message = format!("The same {length} lines of code appear at {}.", words.join(", "));
    let lines = places.iter().map(|(from, _)| *from).collect();
    Pattern::smell("duplicated-block", confidence, lines, message)
        .with_fix("Extract a function and call it from each place.")
}
