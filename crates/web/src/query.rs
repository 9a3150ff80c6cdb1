//! What is searched for.

use std::fmt;

/// The most results of one search.
pub const MAX_RESULTS: u8 = 20;
/// Characters of a query.
const MAX_QUERY_CHARS: usize = 1000;

/// A search: bounded words, how many results, and of where and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebQuery {
    text: String,
    max_results: u8,
    /// Results for people who live there.
    pub region: Option<Region>,
    /// Results that are no older.
    pub time: Option<Recency>,
}

/// Why a search can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidWebQuery {
    /// Which part.
    pub field: &'static str,
    /// What is wrong, and what is accepted.
    pub problem: String,
}

impl WebQuery {
    /// Words to look for, and at most how many results.
    pub fn parse(text: &str, max_results: u8) -> Result<Self, InvalidWebQuery> {
        let text = crate::text::fold(text);
        if text.is_empty() || text.chars().count() > MAX_QUERY_CHARS {
            let problem = format!("must hold 1 to {LONGEST} characters that are not all blank");
            return Err(InvalidWebQuery { field: "query", problem });
        }
        if !(1..=MAX_RESULTS).contains(&max_results) {
            let problem = format!("{max_results} is outside 1..={MOST_RESULTS}");
            return Err(InvalidWebQuery { field: "max_results", problem });
        }
        Ok(Self { text, max_results, region: None, time: None })
    }

    /// For people of a region.
    #[must_use]
    pub fn region(mut self, region: Option<Region>) -> Self {
        self.region = region;
        self
    }

    /// No older than that.
    #[must_use]
    pub fn time(mut self, time: Option<Recency>) -> Self {
        self.time = time;
        self
    }

    /// The words, on one line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// At most so many results.
    pub fn max_results(&self) -> usize {
        self.max_results.into()
    }
}

/// A country and a language, such as `us-en` or `de-de`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    country: String,
    language: String,
}

impl Region {
    /// Reads `us-en`; `wt-wt`, which stands for everywhere, is none.
    pub fn parse(text: &str) -> Result<Option<Self>, InvalidWebQuery> {
        let lower = text.trim().to_ascii_lowercase();
        if lower == "wt-wt" {
            return Ok(None);
        }
        let is = |part: &str, most| {
            (2..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_lowercase())
        };
        match lower.split_once('-') {
            // Chinese as it is written in Taiwan is `tw-tzh`.
            Some((country, language)) if is(country, 2) && is(language, 3) => {
                Ok(Some(Self { country: country.to_owned(), language: language.to_owned() }))
            }
            _ => {
                let shown = crate::text::truncate(&crate::text::fold(text), 40);
                let problem = format!(
                    "{shown:?} is no region; write a country and a language, such as us-en or de-de"
                );
                Err(InvalidWebQuery { field: "region", problem })
            }
        }
    }

    /// As standards name the country: what is called `uk` here is `GB` there.
    pub(crate) fn country(&self) -> String {
        if self.country == "uk" { "GB".to_owned() } else { self.country.to_ascii_uppercase() }
    }

    /// As browsers name a language, such as `en-US`.
    pub(crate) fn locale(&self) -> String {
        let language = match self.language.as_str() {
            "tzh" => "zh",
            "jp" => "ja",
            "kr" => "ko",
            other => other,
        };
        format!("{language}-{}", self.country())
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.country, self.language)
    }
}

/// How old a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recency {
    /// Since yesterday.
    Day,
    /// Seven days.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Recency {
    /// The word that most providers know.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// Its first letter, that the others know.
    pub(crate) const fn letter(self) -> &'static str {
        match self {
            Self::Day => "d",
            Self::Week => "w",
            Self::Month => "m",
            Self::Year => "y",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_bounded() {
        for (text, most, want) in [
            (" a\n b ", 1, Ok("a b")),
            ("a", 20, Ok("a")),
            ("", 5, Err("query: must hold 1 to 1000")),
            (" \0\t", 5, Err("query: must hold")),
            ("a", 0, Err("max_results: 0 is outside 1..=20")),
            ("a", 21, Err("max_results: 21 is outside 1..=20")),
        ] {
            match (WebQuery::parse(text, most).map_err(|bad| bad.to_string()), want) {
                (Ok(query), Ok(want)) => assert_eq!(query.text(), want),
                (Err(told), Err(want)) if told.contains(want) => {}
                (got, want) => panic!("{text:?} {most}: {got:?}, not {want:?}"),
            }
        }
        assert!(Query::parse(&"q".repeat(1001), 5).is_err());
        assert!(Query::parse(&"ä".repeat(1000), 5).is_ok());
    }

    #[test]
    fn regions_are_a_country_and_a_language() {
        for (text, want) in [
            ("us-en", Some(("us-en", "en-US"))),
            (" DE-de ", Some(("de-de", "de-DE"))),
            ("uk-en", Some(("uk-en", "en-GB"))),
            ("jp-jp", Some(("jp-jp", "ja-JP"))),
            ("tw-tzh", Some(("tw-tzh", "zh-TW"))),
            ("wt-wt", None),
        ] {
            let got = Region::parse(text).unwrap();
            let got = got.map(|region| (region.to_string(), region.locale()));
            let got = got.as_ref().map(|(region, locale)| (region.as_str(), locale.as_str()));
            assert_eq!(got, want, "{text}");
        }
        for text in ["", "us", "usa-en", "us-e", "u1-en", "us-en&q=x", "us_en", "ü-en"] {
            let told = Region::parse(text).unwrap_err().to_string();
            assert!(told.contains("such as us-en"), "{text}: {told}");
        }
    }
}
