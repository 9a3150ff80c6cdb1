//! Conditions of `.if` and `.ie`, evaluated for a terminal.

/// The definitions that conditions refer to.
pub(super) trait ManDefinitions {
    /// Whether a string, a macro or a request has this name.
    fn defined(&self, name: &str) -> bool;
    /// Whether a register has this name.
    fn register(&self, name: &str) -> bool;
}

/// Evaluates a condition; returns the result and the rest of the line.
pub(super) fn split<'a>(line: &'a str, known: &dyn ManDefinitions) -> (bool, &'a str) {
    let line = line.trim_start_matches([' ', '\t']);
    if let Some(rest) = line.strip_prefix('!') {
        let (answer, rest) = split_plain(rest.trim_start_matches([' ', '\t']), known);
        return (!answer, rest);
    }
    split_plain(line, known)
}

fn split_plain<'a>(line: &'a str, known: &dyn ManDefinitions) -> (bool, &'a str) {
    let mut chars = line.chars();
    let Some(first) = chars.next() else { return (false, "") };
    let rest = chars.as_str();
    match first {
        'n' | 'o' => (true, rest),
        't' | 'e' | 'v' => (false, rest),
        'd' | 'r' | 'c' | 'm' | 'F' | 'S' => {
            let rest = rest.trim_start();
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let answer = match first {
                'd' => known.defined(name),
                'r' => known.register(name),
                _ => first == 'c',
            };
            (answer, after)
        }
        c if c.is_ascii_digit() || "(-+.".contains(c) => number(line),
        c if c.is_whitespace() || c == '\\' => (false, line),
        quote => {
            let mut parts = rest.splitn(3, quote);
            let (left, right) = (parts.next(), parts.next());
            (left == right, parts.next().unwrap_or_default())
        }
    }
}

/// A number without spaces; operators have no precedence in roff.
fn number(line: &str) -> (bool, &str) {
    let end = line.find([' ', '\t', '\\']).unwrap_or(line.len());
    let (expression, rest) = line.split_at(end);
    (value(expression) > 0, rest)
}

/// The value of an expression, evaluated from left to right; parentheses are skipped.
pub(super) fn value(expression: &str) -> i64 {
    let mut total = 0_i64;
    let mut operator = "+";
    let mut rest = expression.trim_start_matches(['(', ' ']);
    loop {
        let negative = rest.starts_with('-');
        let digits = rest.trim_start_matches(['-', '+', '(']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (digits, after) = digits.split_at(end);
        let number = digits.parse::<i64>().unwrap_or_default();
        let number = if negative { -number } else { number };
        total = apply_operator(total, operator, number);
        // Units and the fraction say nothing about which branch is taken.
        let after = after.trim_start_matches(|c: char| {
            c == '.' || c == ')' || c.is_ascii_alphanumeric() || c == '|'
        });
        let Some(found) = ["<=", ">=", "==", "<", ">", "=", "+", "-", "*", "/", "%", "&", ":"]
            .into_iter()
            .find(|operator| after.starts_with(operator))
        else {
            return total;
        };
        operator = found;
        rest = after.strip_prefix(found).unwrap_or_default();
    }
}

fn apply_operator(left: i64, operator: &str, right: i64) -> i64 {
    match operator {
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "=" | "==" => i64::from(left == right),
        "&" => i64::from(left > 0 && right > 0),
        ":" => i64::from(left > 0 || right > 0),
        "-" => left.saturating_sub(right),
        "*" => left.saturating_mul(right),
        "/" => left.checked_div(right).unwrap_or_default(),
        "%" => left.checked_rem(right).unwrap_or_default(),
        _ => left.saturating_add(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FakeManDefinitions;

    impl ManDefinitions for FakeManDefinitions {
        fn defined(&self, name: &str) -> bool {
            name == "known"
        }

        fn register(&self, name: &str) -> bool {
            name == "r"
        }
    }

    #[test]
    fn conditions_take_the_branch_of_a_terminal() {
        let cases = [
            ("n .sp", true, " .sp"),
            ("t .sp", false, " .sp"),
            ("!t .sp", true, " .sp"),
            ("1 x", true, " x"),
            ("0>1 x", false, " x"),
            ("(24>23) x", true, " x"),
            ("'a'a' x", true, " x"),
            ("!'a'b'x", true, "x"),
            ("dknown x", true, " x"),
            ("d none x", false, " x"),
            ("rr x", true, " x"),
            ("", false, ""),
            ("'", false, ""),
            ("3-3", false, ""),
            ("5/0", false, ""),
        ];
        for (line, answer, rest) in cases {
            assert_eq!(split(line, &FakeManDefinitions), (answer, rest), "{line}");
        }
    }
}
