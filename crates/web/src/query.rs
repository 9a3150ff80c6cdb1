//! Search queries.

use std::fmt;

/// Maximum number of results per search.
pub const MAX_RESULTS: u8 = 20;
/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 1000;

/// A search: text, number of results, region and age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebQuery {
    text: String,
    max_results: u8,
    /// Region of the results.
    pub region: Option<Region>,
    /// Maximum age of the results.
    pub time: Option<Recency>,
}

/// An invalid query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidWebQuery {
    /// The invalid field.
    pub field: &'static str,
    /// What is wrong, and what is accepted.
    pub problem: String,
}

impl WebQuery {
    /// Validates the text and the number of results.
    pub fn parse(text: &str, max_results: u8) -> Result<Self, InvalidWebQuery> {
        let text = crate::text::fold(text);
        if text.is_empty() || text.chars().count() > MAX_QUERY_CHARS {
            let problem = format!("must have 1 to {MAX_QUERY_CHARS} characters and not be blank");
            return Err(InvalidWebQuery { field: "query", problem });
        }
        if !(1..=MAX_RESULTS).contains(&max_results) {
            let problem = format!("{max_results} is outside 1..={MAX_RESULTS}");
            return Err(InvalidWebQuery { field: "max_results", problem });
        }
        Ok(Self { text, max_results, region: None, time: None })
    }

    /// Sets the region.
    #[must_use]
    pub fn region(mut self, region: Option<Region>) -> Self {
        self.region = region;
        self
    }

    /// Sets the maximum age.
    #[must_use]
    pub fn time(mut self, time: Option<Recency>) -> Self {
        self.time = time;
        self
    }

    /// The text, on one line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Maximum number of results.
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
    /// Parses `us-en`; `None` for `wt-wt`, which means everywhere.
    pub fn parse(text: &str) -> Result<Option<Self>, InvalidWebQuery> {
        let lower = text.trim().to_ascii_lowercase();
        if lower == "wt-wt" {
            return Ok(None);
        }
        let is = |part: &str, most| {
            (2..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_lowercase())
        };
        match lower.split_once('-') {
            // Traditional Chinese in Taiwan is `tw-tzh`.
            Some((country, language)) if is(country, 2) && is(language, 3) => {
                Ok(Some(Self { country: country.to_owned(), language: language.to_owned() }))
            }
            _ => {
                let shown = crate::text::truncate(&crate::text::fold(text), 40);
                let problem = format!(
                    "invalid region {shown:?}; give a country and a language, such as us-en or de-de"
                );
                Err(InvalidWebQuery { field: "region", problem })
            }
        }
    }

    /// ISO 3166 country code: `uk` becomes `GB`.
    pub(crate) fn country(&self) -> String {
        if self.country == "uk" { "GB".to_owned() } else { self.country.to_ascii_uppercase() }
    }

    /// BCP 47 language tag, such as `en-US`.
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

/// Maximum age of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recency {
    /// One day.
    Day,
    /// One week.
    Week,
    /// One month.
    Month,
    /// One year.
    Year,
}

impl Recency {
    /// The word used by most providers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The first letter, used by the others.
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
            ("", 5, Err("query: must have 1 to 1000")),
            (" \0\t", 5, Err("query: must have")),
            ("a", 0, Err("max_results: 0 is outside 1..=20")),
            ("a", 21, Err("max_results: 21 is outside 1..=20")),
        ] {
            match (WebQuery::parse(text, most).map_err(|bad| bad.to_string()), want) {
                (Ok(query), Ok(want)) => assert_eq!(query.text(), want),
                (Err(message), Err(want)) if message.contains(want) => {}
                (got, want) => panic!("{text:?} {most}: {got:?}, not {want:?}"),
            }
        }
        assert!(WebQuery::parse(&"q".repeat(1001), 5).is_err());
        assert!(WebQuery::parse(&"ä".repeat(1000), 5).is_ok());
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
            let message = Region::parse(text).unwrap_err().to_string();
            assert!(message.contains("such as us-en"), "{text}: {message}");
        }
    }
}
