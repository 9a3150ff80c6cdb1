//! Detects tool descriptions that instruct the model behind the user's back.

use crate::{hidden::can_hide, visible};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// A reason to distrust a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// The reason in a few words.
    pub what: &'static str,
    /// The part of the text that shows it, made visible, on one line, and cut.
    pub evidence: String,
}

/// Maximum bytes of evidence.
const MAX_EVIDENCE_BYTES: usize = 160;

/// Reasons and patterns. The text is in lower case, with single spaces and without hidden characters.
const SUSPICIOUS_PATTERNS: [(&str, &str); 27] = [
    (
        "overrides instructions",
        r"\b(?:ignore|disregard|forget|override|bypass|discard|drop)\b[^.]{0,40}\b(?:previous|prior|above|earlier|preceding|existing|original|system|other|your|all|any)\b[^.]{0,24}\b(?:instructions?|prompts?|rules|guidelines|directions|directives|safety|guardrails|constraints)",
    ),
    (
        "overrides instructions",
        r"\b(?:new|updated|real|actual|true) (?:system )?instructions?(?: for you)?:",
    ),
    (
        "overrides instructions",
        r"\b(?:you are now|from now on,? you|pretend (?:to be|that you|you are)|your new (?:role|task|goal|instructions?)|you must obey)\b",
    ),
    (
        "overrides instructions",
        r"\b(?:takes?|has|have) precedence over (?:all|any|other|the user|previous|system)\b",
    ),
    (
        "hides from the user",
        r"\b(?:do not|don't|never|must not|should not|shouldn't|without)\b[^.]{0,24}\b(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|reveal|revealing|alert|alerting|disclose|disclosing|show|showing|let|letting|warn|warning)\b[^.]{0,32}\b(?:users?|humans?|anyone|anybody|people|person|operator)\b",
    ),
    (
        "hides from the user",
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|talk about|explain|display) (?:this|that you|any of this|these|it\b)",
    ),
    (
        "hides from the user",
        r"\b(?:keep|do|run|perform|execute|call|use) (?:this|it|that|these)(?: \w+)? (?:secret|hidden|quiet|silently|secretly|quietly|covertly|in secret)\b",
    ),
    (
        "hides from the user",
        r"\b(?:secretly|covertly|stealthily|behind the user's back|user (?:must|should|will|does) not (?:know|notice|see|be (?:told|aware|informed)))",
    ),
    (
        "hides from the user",
        r"\b(?:so|so that|in order) (?:as )?(?:to )?(?:not (?:to )?(?:scare|alarm|upset|worry|bother)|(?:the )?user (?:doesn't|does not|won't|will not) (?:notice|know|see))",
    ),
    (
        "skips consent",
        r"\b(?:do not|don't|never|without|no need to)\b[^.]{0,16}\b(?:ask|asking|request|requesting|wait|waiting|seek|seeking)\b[^.]{0,32}\b(?:permission|confirmation|consent|approval)",
    ),
    (
        "skips consent",
        r"\buser (?:has|have|had) (?:already|previously|implicitly) (?:approved|consented|authori[sz]ed|agreed|confirmed|given)",
    ),
    (
        "asks for files first",
        r"\b(?:before|prior to|when|whenever|after) (?:you )?(?:using|calling|invoking|running|executing|use|call|invoke) (?:this|any|the|another|other)\b[^.]{0,60}\b(?:read|open|cat|access|load|dump|collect|gather)\b[^.]{0,80}(?:~/|/home|/etc|/root|\.json|\.env|\.ssh|\.aws|config|credential|password|private key|environment variable|its content|chat history|conversation)",
    ),
    (
        "asks for files first",
        r"\b(?:read|open|cat|access|load)\b[^.]{0,60}\band (?:pass|send|include|put|provide|add|append|paste)\b[^.]{0,20}\b(?:its|their|the) (?:full |entire |whole )?contents?\b",
    ),
    (
        "pretends to be markup of the model",
        r"<\/?(?:important|system|system-?prompt|system-?reminder|instructions?|secret|admin|hidden|critical|override|assistant|sysadmin|developer)>",
    ),
    (
        "pretends to be markup of the model",
        r"<\|?(?:im_start|im_end|system|assistant|endoftext|start_header_id|eot_id)\|>|\[/?inst\]|<</?sys>>|\[(?:system|admin|developer)(?: message| note| override)?\]",
    ),
    (
        "pretends to be markup of the model",
        r"(?:^| )(?:system|assistant) ?: ?(?:you|ignore|do|always|never|the user)\b",
    ),
    (
        "sends data away",
        r"\b(?:send|post|upload|forward|transmit|exfiltrate|leak|submit|report|mail|email|bcc|copy)\b[^.]{0,80}\bto:? ?(?:https?://|[\w.+-]{1,64}@[\w-]{1,64}\.|the attacker|attacker|this (?:url|address|server|endpoint|number)|\+[0-9]{6})",
    ),
    (
        "sends data away",
        r"\b(?:pass|include|put|add|append|embed|encode|insert|attach|provide|paste)\b[^.]{0,60}\b(?:chat history|conversation|previous messages|message history|environment variables?|env vars|private key|ssh key|system prompt|file's contents?|contents? of (?:the |your |that |this )?(?:file|~|/|\.|config)|its contents?).{0,80}\b(?:as|in|into|to|via|through|using)\b",
    ),
    ("sends data away", r"\b(?:exfiltrat(?:e|es|ing|ion)|(?:bcc|blind copy) (?:to )?\S+@)"),
    ("sends data away", r"!\[[^\]]{0,80}\]\(https?://[^)\s]{0,200}[?&=]"),
    (
        "reads credentials",
        r"~/\.ssh|\.ssh/|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/credentials|/etc/(?:passwd|shadow|sudoers)|\.git-credentials|\.kube/config|\.docker/config\.json|wallet\.dat|\.bash_history|\.zsh_history|(?:~|\.cursor|\.claude|\.config/\w+)/[\w./-]{0,40}mcp(?:_config)?\.json|claude_desktop_config|login keychain|cookies\.sqlite|\.netrc\b|\.pgpass\b",
    ),
    (
        "reads credentials",
        r"\b(?:read|open|cat|send|include|load|fetch|copy|print|dump|get)\b[^.]{0,40}(?:\.env\b|\.npmrc\b|all environment variables|saved passwords|private keys?\b)",
    ),
    (
        "asks for the system prompt",
        r"\b(?:reveal|print|show|repeat|output|include|leak|send|return|tell|recite|provide|pass|copy|paste|quote|share|give)\b[^.]{0,48}\b(?:system|developer|initial|hidden|original|your) (?:prompt|instructions|message)\b",
    ),
    (
        "steers other tools",
        r"\b(?:must|always|should|has to|needs to) be (?:called|used|run|invoked|executed) (?:first|before|prior to)[^.]{0,24}\b(?:any|every|all|each)(?: of the)? other\b",
    ),
    (
        "steers other tools",
        r"\b(?:whenever|when|if|every time|each time|any time|after)\b[^.]{0,40}\b(?:other|another|different|any other|send_email|send_message|the \w{1,40}) tools? (?:is|are|gets?|has been|was)\b[^.]{0,60}\b(?:must|always|instead|also|change|replace|add|modify)\b",
    ),
    (
        "runs commands",
        r"\b(?:curl|wget)\b[^|]{0,120}\|\s?(?:sudo )?(?:ba|z|da)?sh\b|\brm -rf? [~/]|\bbase64 (?:-d|--decode)\b|\bchmod \+x\b|\bnc -e\b|/dev/tcp/",
    ),
    (
        "hides text in markup",
        r"<!--|\[//\]: ?#|display: ?none|font-size: ?0|color: ?(?:white|transparent)",
    ),
];

/// Patterns over bytes, because negated classes are then small.
static COMPILED_PATTERNS: LazyLock<Vec<(&str, Option<Regex>)>> = LazyLock::new(|| {
    SUSPICIOUS_PATTERNS
        .map(|(what, pattern)| (what, Regex::new(&format!("(?-u){pattern}")).ok()))
        .into()
});

/// Returns reasons to distrust a tool's description, one of each kind; none for an ordinary description.
pub fn suspicious(text: &str) -> Vec<Suspicion> {
    let mut found: Vec<Suspicion> = hidden_characters(text).into_iter().collect();
    let plain = normalize(text);
    for (what, pattern) in COMPILED_PATTERNS.iter() {
        if found.iter().any(|suspicion| suspicion.what == *what) {
            continue;
        }
        // A pattern that did not compile can't clear the text.
        let evidence = match pattern {
            Some(pattern) => pattern.find(plain.as_bytes()).map(|found| found.as_bytes()),
            None => Some(what.as_bytes()),
        };
        found.extend(
            evidence.map(|evidence| Suspicion {
                what,
                evidence: cut(&String::from_utf8_lossy(evidence)),
            }),
        );
    }
    found.extend(encoded(text));
    found
}

/// Finds the first hidden character, with its surroundings.
fn hidden_characters(text: &str) -> Option<Suspicion> {
    let shown = visible(text);
    if shown == text {
        return None;
    }
    let same = text.bytes().zip(shown.bytes()).take_while(|(a, b)| a == b).count();
    let start = shown.floor_char_boundary(same.saturating_sub(24));
    Some(Suspicion { what: "hidden characters", evidence: cut(shown.get(start..)?) })
}

/// Converts to lower case, without hidden characters, with single spaces.
fn normalize(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !can_hide(*c)) {
        match c {
            '\u{2018}' | '\u{2019}' => plain.push('\''),
            '`' | '*' | '"' | '\u{201C}' | '\u{201D}' => {}
            c if c.is_whitespace() || c.is_control() => {
                if !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

/// Finds a long run of base64, which has no place in a description.
fn encoded(text: &str) -> Option<Suspicion> {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let run = text.split(|c| !is_base64(c)).find(|run| {
        run.len() >= 80
            && run.contains(|c: char| c.is_ascii_uppercase())
            && run.contains(|c: char| c.is_ascii_lowercase())
            && run.contains(|c: char| c.is_ascii_digit())
    })?;
    Some(Suspicion { what: "encoded text", evidence: cut(run) })
}

fn cut(evidence: &str) -> String {
    let shown = crate::one_line(evidence);
    let end = shown.floor_char_boundary(MAX_EVIDENCE_BYTES);
    // A character that the cut separates from its neighbor, such as half of a flag, may be hidden by itself.
    crate::one_line(shown.get(..end).unwrap_or_default().trim()).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_is_compiled() {
        for (what, pattern) in super::COMPILED_PATTERNS.iter() {
            assert!(pattern.is_some(), "{what}");
        }
    }

    #[test]
    fn evidence_that_is_cut_hides_nothing() {
        let flag = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}";
        for length in 120..160 {
            let found = super::suspicious(&format!("\u{202E}{}{flag}", "a".repeat(length)));
            for suspicion in found {
                assert_eq!(crate::visible(&suspicion.evidence), suspicion.evidence, "{length}");
            }
        }
    }
}
